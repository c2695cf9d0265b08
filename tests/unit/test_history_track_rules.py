import os
import stat
from pathlib import Path

import pytest

from ragforge.config.schema import HistorySettings
from ragforge.config.settings import Settings
from ragforge.domain.errors import StoreDamaged, StoreNewer
from ragforge.domain.versions import Change, Node, NodeKind, Provenance
from ragforge.versions.scan.changes import scan
from ragforge.versions.scan.manifest import Manifest
from ragforge.versions.scan.renames import renames
from ragforge.versions.scan.track_rules import TrackRules, track_rules_of
from tests.scanned import Project, file_node


def test_manifests_of_others_are_refused(project: Project) -> None:
    project.put("a")
    content = project.scan().manifest.to_bytes()
    assert Manifest.from_bytes(Manifest().to_bytes()) == Manifest()
    with pytest.raises(StoreNewer):
        Manifest.from_bytes(b"ragm9\n" + content)
    for damaged in (content[:-1], content[:40], content[:20] + b"\0" * 8 + content[28:], b"ragm2\n"):
        with pytest.raises(StoreDamaged):
            Manifest.from_bytes(damaged)


def test_home_and_what_holds_it_are_never_tracked(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    work = home / "work"
    work.mkdir(parents=True)
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    settings = Settings(store=f"sqlite://{home}/.local/share/ragforge/ragforge.db")
    for root in (home, home.parent, Path("/"), home / ".local/share/ragforge"):
        environ["RAGFORGE_DATA_DIR"] = str(home / ".local/share/ragforge")
        assert track_rules_of(root, settings, environ) is None
    tracked = track_rules_of(work, settings, environ)
    assert tracked == TrackRules(work, home / ".config/git/ignore", 10 * 1024 * 1024)
    (tmp_path / "link").symlink_to(home)
    assert track_rules_of(tmp_path / "link", settings, environ) is None


def test_settings_and_git_say_what_is_tracked(tmp_path: Path) -> None:
    home = tmp_path.resolve() / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    settings = Settings(store="sqlite:///nowhere/x.db", history=HistorySettings(file_mb_max=0.5))
    environ = {"HOME": str(home), "PATH": os.environ["PATH"]}
    tracked = track_rules_of(tmp_path / "project", settings, environ)
    assert tracked
    assert (tracked.excludes, tracked.file_bytes_max) == (home / "mine", 512 * 1024)
    (home / "dotfiles").write_text("*.swp\n")
    (home / "mine").symlink_to("dotfiles")
    tracked = track_rules_of(tmp_path / "project", settings, environ)
    assert tracked
    assert tracked.excludes == home / "dotfiles"


def test_ragforges_own_folders_inside_the_project_are_left_out(project: Project) -> None:
    environ = {
        "HOME": "/nowhere",
        "PATH": os.environ["PATH"],
        "RAGFORGE_DATA_DIR": str(project.root / "var" / "data"),
        "RAGFORGE_CONFIG_DIR": str(project.root / "etc"),
    }
    settings = Settings(store=f"sqlite://{project.root}/conversations.db")
    for path in (
        "var/data/blobs.db",
        "var/mine",
        "etc/config.toml",
        "conversations.db",
        "conversations.db-wal",
    ):
        project.put(path)
    project.put(".ragforge/config.toml")
    tracked = track_rules_of(project.root, settings, environ)
    assert tracked
    found = scan(tracked, Manifest())
    assert set(found.manifest.entries) == {"var/mine", ".ragforge/config.toml"}
    assert found.untracked == (), "they are no news to anyone"
    assert stat.S_ISDIR((project.root / "var/data").stat().st_mode)


def change(path: str, before: Node | None, after: Node | None) -> Change:
    return Change(path, before, after, Provenance.SHELL)


def test_renames_are_told_by_content_and_mode() -> None:
    one, two, script = file_node(b"one"), file_node(b"two"), file_node(b"one", 0o755)
    empty = file_node(b"")
    folder = Node(NodeKind.FOLDER, "", 0o755)
    changes = [
        change("old/a.txt", one, None),
        change("old/b.txt", one, None),
        change("c", two, None),
        change("empty-1", empty, None),
        change("d-1", folder, None),
        change("edited", one, two),
        change("new/b.txt", None, one),
        change("new/other", None, one),
        change("new/third", None, one),
        change("run", None, script),
        change("empty-2", None, empty),
        change("d-2", None, folder),
        change("c2", None, two),
    ]
    origins = {each.path: each.renamed_from for each in renames(changes) if each.renamed_from}
    assert origins == {"new/b.txt": "old/b.txt", "new/other": "old/a.txt", "c2": "c"}
    assert [each.path for each in renames(changes)] == [each.path for each in changes]
