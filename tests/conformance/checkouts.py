"""The repository agents start from, and what each checkpoint's agent did to its checkout.

Every script runs in ``workspace/repository``, a shallow checkout at the pin that agno itself prepared.
"""

from __future__ import annotations

# Builds the bare repository that stands for the remote; its main branch has two commits.
ORIGIN = r"""
git init --quiet --bare --object-format=sha1 -b main origin.git
git -C origin.git config uploadpack.allowAnySHA1InWant true
git init --quiet --object-format=sha1 -b main seed
cd seed
mkdir -p src docs bin assets config
printf '# Shop\n\nSells things.\n' > README.md
printf 'print("shop")\n' > src/app.py
seq -f 'value %g' 1 40 > src/values.py
seq 1 120 > docs/journal.txt
printf 'no newline at the end' > docs/NOTES
printf '#!/bin/sh\nexec true\n' > bin/run.sh
printf '#!/bin/sh\nexec false\n' > bin/plain.sh
printf '\000\001\002logo\377' > assets/logo.bin
printf 'currency = "EUR"\n' > config/base.toml
printf 'debug = false\n' > config/extra.toml
printf 'echo one\necho two\n' > start.bat
printf '$Id$\nversion 1\n' > version.id
: > empty.txt
ln -s README.md readme-link
ln -s docs manual
printf '*.bat text eol=crlf\n*.id ident\n*.bin binary\n' > .gitattributes
printf '*.log\n/build/\n.venv/\n' > .gitignore
git add --all
git update-index --chmod=+x bin/run.sh
git update-index --add --cacheinfo 160000,1111111111111111111111111111111111111111,vendor/pinned
git commit --quiet -m 'Open the shop'
printf 'print("shop 2")\n' >> src/app.py
git commit --quiet -m 'Second counter' src/app.py
git push --quiet ../origin.git main
cd ..
rm -rf seed
"""

# A commit of everything staged.
PREAMBLE = r"""
commit() { git commit --quiet -m "$1"; }
nested() {
  mkdir -p "$1"
  git -C "$1" init --quiet --object-format=sha1 -b main
  printf 'inner\n' > "$1/inner.c"
  git -C "$1" add inner.c
  git -C "$1" commit --quiet -m inner
}
"""

CHECKOUTS: dict[str, str] = {}

CHECKOUTS["untouched"] = ":"

CHECKOUTS["edits"] = r"""
printf 'more\n' >> README.md
sed -i '3d' src/values.py
sed -i 's/^60$/sixty/' docs/journal.txt
rm config/extra.toml
printf 'edited' > docs/NOTES
printf '\000\001\003new logo\377\376' > assets/logo.bin
mkdir -p notes/deep
printf 'untracked\n' > notes/deep/todo.md
chmod +x bin/plain.sh
chmod -x bin/run.sh
printf 'echo three\r\n' >> start.bat
"""

CHECKOUTS["renames"] = r"""
git mv src/values.py src/numbers.py
mv docs/journal.txt diary.txt
sed -i 's/^7$/seven/' diary.txt
mv config settings
cp README.md COPY.md
"""

CHECKOUTS["types"] = r"""
rm readme-link && printf 'now a file\n' > readme-link
rm src/app.py && ln -s values.py src/app.py
rm config/base.toml && mkdir config/base.toml && printf 'x\n' > config/base.toml/inside
rm -r docs && printf 'was a folder\n' > docs
rm bin/run.sh && ln -s plain.sh bin/run.sh && chmod +x bin/plain.sh
"""

CHECKOUTS["links"] = r"""
ln -s src/app.py to-app
ln -s nowhere/at/all dangling
ln -s ../repository/README.md around
ln -s /etc/hostname absolute
ln -s /workspace/repository/README.md home
ln -sfn src manual
ln -sf /srv/README.md readme-link
mkdir -p tools
ln -s ../.. tools/top
ln -s . tools/self
ln -s top/repository/README.md tools/through
ln -s "$(printf 'long/%.0s' $(seq 1 60))end" far
touch -h -d '2001-02-03T04:05:06Z' dangling
"""

CHECKOUTS["names"] = r"""
mkdir -p odd 'odd/white space'
printf '1\n' > 'odd/white space/in a  name.txt'
printf '2\n' > $'odd/new\nline'
printf '3\n' > $'odd/tab\tand "quote"'
printf '4\n' > "$(printf 'odd/caf\351')"
printf '5\n' > "$(printf 'odd/cafe\314\201')"
printf '6\n' > "$(printf 'odd/caf\303\251')"
printf '7\n' > odd/-dash
printf '8\n' > ./--option
printf '9\n' > 'odd/padded '
printf '10\n' > ' '
printf '11\n' > 'odd/[ab]*?'
printf '12\n' > ':(top)magic'
printf '13\n' > 'odd/=> {a}'
printf '14\n' > HEAD
printf '15\n' > 'odd/~'
printf '16\n' > $'odd/\e[31mred'
printf '17\n' > "$(printf 'odd/\342\200\256bidi')"
printf '18\n' > odd/Case && printf '19\n' > odd/case
printf '20\n' > "odd/$(printf 'n%.0s' $(seq 1 250))"
deep=odd/$(printf 'level/%.0s' $(seq 1 40))
mkdir -p "$deep" && printf '21\n' > "$deep/leaf"
: > 'odd/ empty '
printf '22\n' > "'; touch x #"
mv README.md $'READ\tME "now".md'
"""

CHECKOUTS["nested"] = r"""
nested vendor/lib
nested 'vendor/with space'
printf 'dirty\n' >> vendor/lib/inner.c
"""

CHECKOUTS["submodule"] = r"""
nested vendor/lib
git -c advice.addEmbeddedRepo=false add vendor/lib
commit 'Vendor it'
printf 'dirty\n' >> vendor/lib/inner.c
"""

CHECKOUTS["submodule-staged"] = r"""
nested vendor/lib
git -c advice.addEmbeddedRepo=false add vendor/lib
"""

CHECKOUTS["submodule-moved"] = "nested vendor/pinned"

# Everything an index, a stat cache or a setting can do to make git overlook a change.
CHECKOUTS["hidden"] = r"""
git update-index --assume-unchanged README.md src/app.py
printf 'assumed unchanged\n' >> README.md
rm src/app.py
git update-index --skip-worktree docs/NOTES
printf 'skipped' > docs/NOTES
before=$(stat -c %Y config/base.toml)
printf 'currency = "USD"\n' > config/base.toml
touch -d "@$before" config/base.toml
git config core.trustctime false
git config core.fileMode false
chmod +x bin/plain.sh
git config core.ignoreCase true
git config core.symlinks false
git config core.autocrlf true
git config status.showUntrackedFiles no
git config core.excludesFile .everything
git config core.worktree ../../elsewhere
printf '*\n' > .everything
printf 'kept\r\n' > windows.txt
"""

CHECKOUTS["replaced"] = r"""
printf 'changed\n' > README.md
git add -A
other=$(git commit-tree -p HEAD -m other "$(git write-tree)")
git reset --quiet
git replace HEAD "$other"
"""

CHECKOUTS["staging"] = r"""
printf 'staged\n' >> README.md && git add README.md && printf 'then edited\n' >> README.md
printf 'new\n' > new.txt && git add new.txt && printf 'newer\n' >> new.txt
printf 'gone\n' > gone.txt && git add gone.txt && rm gone.txt
printf 'promised\n' > intent.txt && git add -N intent.txt
git rm --quiet --cached docs/NOTES
git rm --quiet --cached empty.txt && rm empty.txt
git rm --quiet config/extra.toml && printf 'debug = true\n' > config/extra.toml
git mv bin/plain.sh bin/moved.sh
printf 'only in the index\n' > docs/journal.txt && git add docs/journal.txt && seq 1 120 > docs/journal.txt
"""

CHECKOUTS["conflict"] = r"""
git switch --quiet -c theirs
sed -i 's/Sells/Buys/' README.md
printf 'theirs\n' > both.txt
git rm --quiet docs/NOTES
printf 'theirs alone\n' > theirs.txt
git add -A && commit 'Their side'
git switch --quiet --detach HEAD~1
sed -i 's/Sells/Lends/' README.md
printf 'ours\n' > both.txt
printf 'changed on our side' > docs/NOTES
git add -A && commit 'Our side'
git merge theirs > /dev/null 2>&1 && exit 1
test -f .git/MERGE_HEAD
"""

CHECKOUTS["commits"] = r"""
git switch --quiet -c feature/one
printf 'print("three")\n' >> src/app.py
git add -A && commit 'Third counter'
git mv src/app.py src/main.py
printf 'added\n' > added.txt
rm config/extra.toml
git add -A && commit 'Rename'
git tag v1
printf 'added then edited\n' >> added.txt
printf '# Shop\n\nSells things.\n\nAfter the commits.\n' > README.md
"""

CHECKOUTS["undone"] = r"""
printf 'passing\n' > passing.txt && printf 'x\n' >> README.md
git add -A && commit 'Comes'
git checkout --quiet HEAD~1 -- README.md && rm passing.txt
"""

CHECKOUTS["amended"] = r"""
git checkout --quiet --orphan rewritten
printf 'rewritten\n' > README.md
git add -A && commit 'A history of its own'
printf 'and edited\n' >> README.md
"""

CHECKOUTS["unborn"] = r"""
git symbolic-ref HEAD refs/heads/never-born
printf 'x\n' >> README.md
"""

CHECKOUTS["stash"] = r"""
printf 'half an idea\n' >> README.md
printf 'new idea\n' > idea.txt
git stash push --quiet --include-untracked -m 'half an idea'
printf 'something else\n' > other.txt
"""

CHECKOUTS["packed"] = r"""
printf 'print("three")\n' >> src/app.py
git add -A && commit 'Third counter'
git gc --quiet --prune=now
git pack-refs --all
printf 'x\n' >> docs/NOTES
"""

CHECKOUTS["history"] = r"""
git fetch --quiet --unshallow origin
git switch --quiet -c work
sed -i 's/shop 2/shop 3/' src/app.py
git add -A && commit 'On a full history'
git repack --quiet -adf --depth=50
printf 'loose\n' > loose.txt
git add loose.txt
"""

CHECKOUTS["ignored"] = r"""
mkdir -p build .venv/bin src/cache docs/private
printf 'x' > build/output && printf 'x' > debug.log && printf 'x' > src/trace.log
ln -s /usr/bin/python3 .venv/bin/python3
printf '/scratch/\n' >> .git/info/exclude
mkdir scratch && printf 'x' > scratch/note
printf 'cache/*\n!cache/keep\n' > src/.gitignore
printf 'x' > src/cache/drop && printf 'x' > src/cache/keep
printf 'private/\n' >> docs/.gitignore && printf 'x' > docs/private/diary
printf 'staged though ignored\n' > forced.log && git add -f forced.log
mkdir -p build/deep && printf 'staged deep\n' > build/deep/kept && git add -f build/deep/kept
printf 'src/values.py\nREADME.md\n' >> .gitignore
printf 'ignored but tracked\n' >> README.md
mkdir -p .agno/uploads && printf 'x' > .agno/uploads/receipt.pdf
"""

CHECKOUTS["ignore-link"] = r"""
printf '*\n' > docs/everything
rm .gitignore && ln -s docs/everything .gitignore
printf 'x\n' > now-seen.log
"""

CHECKOUTS["attributes"] = r"""
printf '*.txt text\n*.csv text eol=crlf\n*.md filter=shout diff=shout\n*.raw -text\n*.sh binary\n' >> .gitattributes
sed -i 's/$/\r/' docs/journal.txt
printf 'a,b\r\n1,2\r\n' > table.csv
printf 'as\r\nit\r\nis\r\n' > bytes.raw
printf '$Id: 0000 $\nversion 2\n' > version.id
sed -i 's/echo two/echo 2/' start.bat
printf 'shouted\n' >> README.md
printf '\n# more\n' >> bin/run.sh
mkdir sub && printf '*.txt -text\n' > sub/.gitattributes && printf 'one\r\n' > sub/windows.txt
"""

CHECKOUTS["empty"] = r"""
: > README.md
printf 'filled\n' > empty.txt
: > nothing
: > 'nothing either'
mkdir -p hollow/inner
"""

CHECKOUTS["big"] = r"""
"$PYTHON" -c 'import random, sys; sys.stdout.buffer.write(random.Random(7).randbytes(2_500_000))' > dump.bin
"$PYTHON" -c 'import random, sys; sys.stdout.buffer.write(random.Random(8).randbytes(70_000))' > assets/logo.bin
seq 1 30000 > numbers.txt
truncate -s 400000 holes.raw && printf tail >> holes.raw
"""

CHECKOUTS["sparse"] = r"""
git sparse-checkout set --cone src docs
printf 'x\n' >> docs/NOTES
printf 'y\n' > src/new.py
test ! -e bin
"""

CHECKOUTS["index-split"] = r"""
printf 'staged\n' > staged.txt && git add staged.txt
git update-index --index-version 4
git update-index --split-index
printf 'again\n' > again.txt && git add again.txt
printf 'x\n' >> README.md
"""

CHECKOUTS["index-gone"] = r"""
printf 'x\n' >> README.md && printf 'y\n' > new.txt && rm docs/NOTES
rm .git/index
"""

CHECKOUTS["index-broken"] = r"""
printf 'x\n' >> README.md && printf 'y\n' > new.txt && rm docs/NOTES
printf 'DIRC, but no index' > .git/index
"""

# Modes and times that a restore must bring back.
CHECKOUTS["metadata"] = r"""
mkdir -p closed
printf 'a' > closed/owner && chmod 0600 closed/owner
printf 'b' > closed/read-only && chmod 0444 closed/read-only
printf 'c' > closed/setuid && chmod 06755 closed/setuid
printf 'd' > open && chmod 0666 open
chmod 0500 closed
printf 'e' > twin-1 && ln twin-1 twin-2
touch -d '1969-12-31T23:59:59.250Z' open
touch -d '2150-01-01T00:00:00.000000001Z' twin-1
touch -d '2026-06-02T12:34:56.123456789Z' README.md
touch -d '1999-12-31T23:59:59.999999999Z' src
touch -d '1970-01-01T00:00:00Z' docs/NOTES
"""

# Everything in a checkout that makes git run a program. Each leaves a file in $CANARIES.
CHECKOUTS["planted"] = r"""
trap_() { printf 'touch %s/%s; %s' "$CANARIES" "$1" "$2"; }
mkdir -p hooks-of-ours
for hook in post-index-change post-checkout pre-commit reference-transaction; do
  printf '#!/bin/sh\n%s\n' "$(trap_ "hook-$hook" true)" > ".git/hooks/$hook"
  chmod +x ".git/hooks/$hook"
  printf '#!/bin/sh\n%s\n' "$(trap_ "hooks-path-$hook" true)" > "hooks-of-ours/$hook"
  chmod +x "hooks-of-ours/$hook"
done
printf '*.py filter=planted diff=planted\n*.txt diff=command\n*.md filter=process\n' > .gitattributes
printf '# changed\n' >> src/app.py
printf 'changed\n' >> README.md
printf 'changed\n' >> docs/journal.txt
printf '[core]\n\thooksPath = hooks-of-ours\n[filter "included"]\n\tclean = %s\n' "$(trap_ included cat)" > planted.inc
git config core.pager "$(trap_ pager cat)"
git config core.editor "$(trap_ editor true)"
git config core.sshCommand "$(trap_ ssh false)"
git config diff.external "$(trap_ external true)"
git config diff.planted.textconv "$(trap_ textconv cat)"
git config diff.command.command "$(trap_ command true)"
git config filter.planted.clean "$(trap_ clean cat)"
git config filter.planted.smudge "$(trap_ smudge cat)"
git config filter.process.process "$(trap_ process false)"
git config alias.status "!$(trap_ alias true)"
git config include.path ../planted.inc
git config core.fsmonitor "$(trap_ fsmonitor false)"
"""

# Checkpoints without a checkout; these scripts run in the workspace itself.
WORKSPACES: dict[str, str] = {
    "scratch": r"""
mkdir -p data empty/inner
printf 'id,name\n1,cash\n' > data/accounts.csv
ln -s data/accounts.csv latest
ln -s /var/lib/data remote
""",
    "repository-is-a-folder": r"""
mkdir repository
printf 'not a checkout\n' > repository/README.md
""",
    "git-is-a-file": r"""
mkdir repository elsewhere
git init --quiet elsewhere
printf 'gitdir: ../elsewhere/.git\n' > repository/.git
printf 'x\n' > repository/README.md
""",
}
