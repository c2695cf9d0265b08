"""Which memories are offered as near to a new one: those about the same thing, in both languages."""

import pytest

from ragforge.domain.ids import now
from ragforge.domain.memories import Memory, MemorySource, MemoryType
from ragforge.memory.memories import new_memory
from ragforge.memory.nearness import near_to


def memory(content: str) -> Memory:
    return new_memory(content, MemoryType.FACT, project_id="p", at=now(), source=MemorySource.USER)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Port 8443 is the gateway's", "The gateway listens on port 9443"),
        ("Use pytest for the tests", "The tests run with unittest"),
        ("I prefer tabs", "Indent with four spaces, no tabs"),
        ("We use Redis", "The cache is memcached"),
        ("Les réponses en français", "Réponds-moi toujours en français"),
        ("La base de données est PostgreSQL", "On utilise MySQL comme base"),
        ("On déploie le vendredi", "Ne jamais déployer le vendredi"),
    ],
)
async def test_what_is_about_the_same_is_near(one: str, other: str) -> None:
    assert await near_to(one, [memory(other)])
    assert await near_to(other, [memory(one)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The staging host is behind the VPN", "Ada maintains the billing code"),
        ("Never commit on Fridays", "The gateway listens on port 8443"),
        ("The build uses Docker", "The user interface uses Textual"),
        ("The test server is slow", "The license server costs 20 euros"),
        ("Keep functions short", "Keep the logs for 90 days"),
        ("The project uses Rust", "The project ends in December"),
        ("Le projet est en Python", "Le projet appartient à Marie"),
        ("Il faut relancer le serveur de mails", "Il faut payer la facture d'OVH"),
        ("Je préfère les tabulations", "Le certificat expire en mars"),
    ],
)
async def test_what_only_looks_alike_is_not(one: str, other: str) -> None:
    assert not await near_to(one, [memory(other)])
    assert not await near_to(other, [memory(one)])
