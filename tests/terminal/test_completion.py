"""The Tab key in a real shell, which completes commands, options, their values and names."""

import shutil
from pathlib import Path

import pytest

from tests.terminal.screen import COMMAND, Desk

START = {
    "bash": ["bash", "--norc", "--noprofile", "-i"],
    "zsh": ["zsh", "-f", "-i"],
    "fish": ["fish", "--no-config", "--interactive"],
}
SETUP = {
    "bash": 'PS1="ready> "; eval "$(ragforge completion bash)"',
    "zsh": 'PS1="ready> "; autoload -U compinit; compinit -D; eval "$(ragforge completion zsh)"',
    "fish": "function fish_prompt; echo -n 'ready> '; end; ragforge completion fish | source",
}
INSTALLED = [shell for shell in START if shell == "bash" or shutil.which(shell)]


@pytest.mark.parametrize("shell", INSTALLED)
def test_tab_completes_commands_options_values_and_names(desk: Desk, shell: str) -> None:
    desk.env["PATH"] = f"{Path(COMMAND).parent}:{desk.env['PATH']}"
    screen = desk.start(argv=START[shell])
    screen.press(f"{SETUP[shell]}\r".encode())
    screen.wait_for(lambda text: text.rstrip().endswith("ready>"))
    for typed, completed in {
        "ragforge und": "ragforge undo ",
        "ragforge undo --fi": "ragforge undo --files ",
        "ragforge merge x --on-conflict th": "ragforge merge x --on-conflict theirs ",
        "ragforge config set memory.embed": "ragforge config set memory.embedder ",
    }.items():
        screen.press(f"{typed}\t".encode())
        screen.wait_for(lambda text, completed=completed: f"ready> {completed.rstrip()}" in text)
        screen.press(b"\x15")  # Ctrl+U empties the line
        screen.wait_for(lambda text: text.rstrip().endswith("ready>"))
