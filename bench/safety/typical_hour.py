"""A typical hour of work on a small Python project: 120 calls as a coding model makes them. Data only."""

import subprocess
from pathlib import Path

Call = tuple[str, dict[str, object]]

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0.1"\n',
    "README.md": "# Shop\n\nPrices and a cart.\n",
    "Makefile": "test:\n\tpython -m pytest -q\n",
    "src/shop/__init__.py": "",
    "src/shop/prices.py": "RATE = 0.19\n\n\ndef gross(net: float) -> float:\n    return net * (1 + RATE)\n",
    "src/shop/cart.py": "from shop.prices import gross\n\n\nclass Cart:\n    def __init__(self) -> None:\n"
    "        self.lines: list[float] = []\n\n"
    "    def add(self, net: float) -> None:\n        self.lines.append(net)\n\n"
    "    def total(self) -> float:\n        return sum(gross(one) for one in self.lines)\n",
    "tests/conftest.py": "import sys\n\nsys.path.insert(0, 'src')\n",
    "tests/test_prices.py": "from shop.prices import gross\n\n\n"
    "def test_gross() -> None:\n    assert gross(100) == 119\n",
    "tests/test_cart.py": "from shop.cart import Cart\n\n\n"
    "def test_total() -> None:\n    cart = Cart()\n    cart.add(100)\n"
    "    assert cart.total() == 119\n",
    "docs/notes.md": "notes\n",
    ".gitignore": "__pycache__/\nbuild/\n",
}


def lay(root: Path) -> None:
    """Write the project and commit it."""
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-qm", "start")):
        who = ("-c", "user.name=Dev", "-c", "user.email=dev@example.org")
        subprocess.run(["git", *who, *arguments], cwd=root, check=True)
    for key, value in (("user.name", "Dev"), ("user.email", "dev@example.org")):
        subprocess.run(["git", "config", key, value], cwd=root, check=True)


def _read(path: str) -> Call:
    return "read", {"path": path}


def _sh(command: str) -> Call:
    return "shell", {"command": command}


def _edit(path: str, old: str, new: str) -> Call:
    return "edit", {"path": path, "old": old, "new": new}


LOOK: tuple[Call, ...] = (
    ("list", {"path": "."}),
    _read("README.md"),
    _sh("git status --short"),
    _sh("git log --oneline -10"),
    _read("pyproject.toml"),
    ("glob", {"pattern": "**/*.py"}),
    _read("src/shop/prices.py"),
    _read("src/shop/cart.py"),
    ("search", {"pattern": "gross"}),
    _sh("ls -la src/shop tests"),
    _read("tests/test_prices.py"),
    _read("tests/test_cart.py"),
    _sh("grep -rn 'RATE' src | head -20"),
    ("project_map", {}),
    _sh("wc -l src/shop/*.py tests/*.py"),
    _sh("find . -name '*.py' -not -path './.git/*' | sort"),
    _sh("cat Makefile && head -20 README.md"),
    ("git", {"what": "status"}),
    _sh("git diff HEAD --stat"),
    _sh("sed -n '1,40p' src/shop/cart.py"),
)
PRICES: tuple[Call, ...] = (
    _sh("python -m pytest -q"),
    _edit("src/shop/prices.py", "RATE = 0.19", "RATE = 0.19\nREDUCED = 0.07"),
    _edit("src/shop/prices.py", "    return net * (1 + RATE)\n", "    return round(net * (1 + RATE), 2)\n"),
    _read("src/shop/prices.py"),
    _sh("python -m pytest -q tests/test_prices.py"),
    ("search", {"pattern": "round"}),
    _edit("tests/test_prices.py", "gross(100) == 119", "gross(100) == 119.0"),
    _sh("python -m pytest -q -x"),
    _sh("git diff"),
    _sh("git diff --stat | cat"),
    _sh("git add src/shop/prices.py tests/test_prices.py"),
    _sh('git commit -m "Round prices to cents"'),
    _sh("git log --oneline -3"),
    _read("src/shop/cart.py"),
    ("symbols", {"path": "src/shop/cart.py"}),
    ("references", {"symbol": "gross"}),
    _sh("git show --stat HEAD"),
    _sh("git status"),
)
CART: tuple[Call, ...] = (
    (
        "write",
        {
            "path": "src/shop/coupons.py",
            "content": "def off(total: float, percent: float) -> float:\n"
            "    return round(total * (1 - percent / 100), 2)\n",
        },
    ),
    (
        "write",
        {
            "path": "tests/test_coupons.py",
            "content": "from shop.coupons import off\n\n\n"
            "def test_off() -> None:\n    assert off(100, 10) == 90\n",
        },
    ),
    _sh("python -m pytest -q tests/test_coupons.py"),
    _edit(
        "src/shop/cart.py",
        "    def total(self) -> float:",
        "    def count(self) -> int:\n        return len(self.lines)\n\n    def total(self) -> float:",
    ),
    _read("src/shop/cart.py"),
    _sh("python -m pytest -q 2>&1 | tail -5"),
    ("run_tests", {}),
    _sh("grep -n 'def ' src/shop/*.py"),
    _sh("rg -n 'lines' src || true"),
    _edit(
        "tests/test_cart.py",
        "    assert cart.total() == 119\n",
        "    assert cart.total() == 119\n    assert cart.count() == 1\n",
    ),
    ("run_tests", {"target": "tests/test_cart.py"}),
    _sh("git status -sb && git diff --stat"),
    _sh("git add -A"),
    _sh('git commit -q -m "Count the lines of a cart; coupons"'),
    _sh("git log -1 --stat"),
    _read("tests/test_cart.py"),
    ("search", {"pattern": "def test_", "path": "tests"}),
    _sh("ls tests | wc -l"),
    _sh("cat src/shop/coupons.py tests/test_coupons.py"),
    _sh("head -5 docs/notes.md; tail -5 README.md"),
)
DOCS: tuple[Call, ...] = (
    _edit("README.md", "Prices and a cart.", "Prices, coupons and a cart."),
    _read("README.md"),
    _sh("git diff README.md"),
    _sh("diff README.md docs/notes.md | head"),
    _edit("docs/notes.md", "notes\n", "notes\n\n- coupons\n"),
    _sh("git add README.md docs && git commit -qm 'Describe coupons'"),
    _sh("git log --oneline | head -5"),
    _sh("git blame -L 1,5 src/shop/prices.py"),
    _sh("python --version"),
    _sh("which python git"),
    _read("Makefile"),
    _sh("make test"),
    ("todo", {"rows": [{"text": "refactor", "status": "pending"}]}),
    _sh("du -sh . && df -h . | tail -1"),
    _sh("rm -rf build"),
    _sh("date && pwd"),
)
REPEATED: tuple[Call, ...] = (
    _read("src/shop/prices.py"),
    ("search", {"pattern": "REDUCED"}),
    _edit(
        "src/shop/prices.py",
        "def gross(net: float) -> float:",
        "def gross(net: float, rate: float = RATE) -> float:",
    ),
    _sh("python -m pytest -q"),
    _edit("src/shop/prices.py", "(1 + RATE), 2)", "(1 + rate), 2)"),
    _sh("python -m pytest -q"),
    _sh("git diff src"),
    _sh("git add src && git commit -qm 'Take the rate as an argument'"),
    _read("src/shop/cart.py"),
    _sh("sed -n '/def total/,$p' src/shop/cart.py"),
    ("glob", {"pattern": "tests/*.py"}),
    ("list", {"path": "src/shop"}),
    _read("src/shop/coupons.py"),
    _sh("grep -c 'def ' src/shop/coupons.py"),
    _sh("sort README.md | uniq -c | sort -rn | head -3"),
    _edit(
        "src/shop/coupons.py",
        "percent: float) -> float:",
        'percent: float) -> float:\n    """Less percent."""',
    ),
    ("run_tests", {}),
    _sh("git diff --cached; git diff"),
    _sh("git add -u"),
    _sh("git commit -m 'Say what off does'"),
    _read("tests/test_coupons.py"),
    _edit("tests/test_coupons.py", "off(100, 10) == 90", "off(100, 10) == 90.0"),
    _sh("python -m pytest -q tests/test_coupons.py -k off"),
    _sh("git commit -am 'Compare floats'"),
    _sh("git log --oneline --graph -8"),
    _sh("git show HEAD -- tests/test_coupons.py"),
    _read("pyproject.toml"),
    _sh("find src -name '*.py' -size +0 | xargs wc -l"),
    _sh("tree -L 2 . 2>/dev/null || ls -R src"),
    _sh("cat pyproject.toml | grep version"),
    ("git", {"what": "log"}),
    ("git", {"what": "diff"}),
    _sh("stat README.md && file README.md"),
    _sh("[ -f Makefile ] && echo yes"),
    _sh('for f in src/shop/*.py; do echo "== $f"; head -3 "$f"; done'),
    _sh("awk '{print $1}' README.md | head -3"),
    _sh("jq . package.json 2>/dev/null || true"),
    _sh("git branch --show-current"),
    _sh("git rev-parse HEAD"),
    _sh("git ls-files | wc -l"),
    _sh("sleep 0.1; echo done"),
    _read("README.md"),
    _sh("tail -3 src/shop/cart.py"),
    ("search", {"pattern": "coupons", "path": "docs"}),
    _sh("git stash list"),
    _sh("python -m pytest -q"),
)
HOUR: tuple[Call, ...] = (*LOOK, *PRICES, *CART, *DOCS, *REPEATED)
