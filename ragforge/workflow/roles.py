"""The roles that a program asks, and the models for them."""

from ragforge.domain.errors import UsageError
from ragforge.providers.registry import ModelName, parse_model
from ragforge.session.model import NO_MODEL, model_of
from ragforge.session.state import Session
from ragforge.workflow.check import SpuProgram
from ragforge.workflow.syntax import Constant, Instruction, ObjectOperand


def model_for(session: Session, role: str) -> ModelName:
    """Return the model of a role: from `programs.models`, else the session's. Raises UsageError."""
    settings = session.workspace.settings
    if mapped := settings.programs.models.get(role):
        try:
            return parse_model(mapped, endpoints=settings.endpoints)
        except UsageError as error:
            raise UsageError(f"{error}{setting_words(session, role)}") from error
    if ":" in role:
        return parse_model(role, endpoints=settings.endpoints)
    name = model_of(session)
    if name.provider == NO_MODEL:
        raise UsageError(
            f"No model is set for {role or 'the session'}: add --model"
            f"{f', or set programs.models.{role}' if role else ''}."
        )
    return name


def setting_words(session: Session, role: str) -> str:
    """Return where the model of the role is set; empty if it is the session's."""
    mapped = session.workspace.settings.programs.models
    return f" The model of {role} is set by programs.models." if role in mapped else ""


def role_of(call: Instruction) -> Constant | None:
    """Return the role that the operation asks, if it is a literal."""
    match call:
        case Instruction("LLM_EXEC", (_, Constant() as role, _)):
            return role
        case Instruction("AGENT_EXEC", (_, ObjectOperand(entries))):
            role = dict(entries).get("model")
            return role if isinstance(role, Constant) else None
        case _:
            return None


def unmapped_words(session: Session, program: SpuProgram) -> str:
    """Return which roles use the session's model because none is set, as a sentence; empty for none."""
    roles = dict.fromkeys(str(role.value) for call in program.code if (role := role_of(call)))
    models = session.workspace.settings.programs.models
    unmapped = [role for role in roles if role and role not in models and ":" not in role]
    if not unmapped or (name := model_of(session)).provider == NO_MODEL:
        return ""
    return f"{', '.join(unmapped)}: {name}, the session's model; programs.models sets others."
