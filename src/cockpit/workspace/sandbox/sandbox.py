"""Turns a launch into what is started: inside bubblewrap, confined by Landlock, or as it is.

`Sandbox` caches what is known of one workspace between launches. Decides nothing about what may run.
`SandboxedLaunch.label` says what really confines the process, not what was intended.
"""

import asyncio
import contextlib
import os
import platform
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from cockpit.plugin.workspace import Isolation, Launch, SandboxMissing
from cockpit.workspace import environment as environments
from cockpit.workspace.resolver import is_within
from cockpit.workspace.sandbox import (
    bubblewrap,
    git_folders,
    guarded_paths,
    host_view,
    kernel_limits,
    seccomp,
)
from cockpit.workspace.sandbox.guarded_paths import (
    GuardedPaths,
    GuardedPathWatch,
    MountStubs,
    unwelcome_paths,
)
from cockpit.workspace.sandbox.probe import SWITCHED_OFF, ProbeResult, memory_file, probe_sandbox
from cockpit.workspace.sandbox.proxy import Proxy
from cockpit.workspace.sandbox.values import SandboxedLaunch, SandboxSettings, Surroundings

BRIDGE_PROGRAM = str(Path(__file__).with_name("bridge.py"))
# Our own Python, and the part of cockpit that runs inside.
OWN_PREFIXES = (sys.prefix, sys.base_prefix, str(Path(__file__).parent))
# Seconds before toolchains and the like are looked for again.
HOST_VIEW_SECONDS = 20.0
_PROBE_RESULTS: dict[str, ProbeResult] = {}
_PROBE_LOCK = threading.Lock()


class Sandbox:
    """Prepares the sandboxed programs of one root. Methods that are not coroutines look at the disk."""

    def __init__(self, around: Surroundings, settings: SandboxSettings) -> None:
        self._around, self._settings = around, settings
        self._lock = threading.Lock()
        self._limits: kernel_limits.ResourceLimits | None = None
        self._top = git_folders.work_tree_top(around.root, around.home) if around.root != "/" else "/"
        self._watches = [
            GuardedPathWatch(one, around.home) for one in dict.fromkeys((around.root, self._top))
        ]
        self._probed: ProbeResult | None = None
        self._seen: tuple[str, float, host_view.HostView] | None = None

    async def isolation(self) -> Isolation:
        if self._probed is None:
            self._probed = await asyncio.to_thread(self._probe)
        return self._probed.isolation

    async def prepare(self, launch: Launch, mark: tuple[str, str]) -> SandboxedLaunch:
        """Prepare the start of `launch`. Pass the result to `release` when it has ended; whoever starts it
        closes its `fds`. Raises `SandboxMissing`."""
        known = await self.isolation()
        if self._settings.use == "required" and known.level != "full":
            raise SandboxMissing(
                f"the settings require a sandbox, but none works here: {known.reason}",
                'fix that, or set [sandbox] use = "auto" in your own settings',
            )
        proxy = Proxy(launch.hosts) if launch.profile == "net" and launch.hosts else None
        if proxy is None or known.level != "full":
            return await asyncio.to_thread(self._hold, launch, mark)
        await proxy.start()
        try:
            return replace(await asyncio.to_thread(self._hold, launch, mark, proxy.path), proxy=proxy)
        except BaseException:
            await proxy.close()
            raise

    async def release(self, held: SandboxedLaunch) -> str:
        """Clean up after a launch. Returns what a reader of its output must know, or nothing."""
        if held.proxy is not None:
            await held.proxy.close()
        return await asyncio.to_thread(self._release, held)

    def close(self) -> None:
        for one in self._watches:
            one.stop()
        if self._limits is not None:
            kernel_limits.remove_group(self._limits)

    def _probe(self) -> ProbeResult:
        if self._settings.use == "off":
            return ProbeResult(SWITCHED_OFF)
        with _PROBE_LOCK:
            # The machine does not change while cockpit runs, except for where bubblewrap is looked for.
            where = os.environ.get("PATH", "")
            found = _PROBE_RESULTS[where] = (
                _PROBE_RESULTS[where] if where in _PROBE_RESULTS else probe_sandbox()
            )
        if found.isolation.level == "full":
            self._sweep()
            # A daemon: nothing waits for the first scan of a huge root that no launch needed.
            threading.Thread(target=self._warm, name="guarded", daemon=True).start()
        return found

    def _warm(self) -> None:
        """Scan the root before the first launch needs it."""
        with self._lock:
            self._look()

    def _hold(self, launch: Launch, mark: tuple[str, str], proxy: str = "") -> SandboxedLaunch:
        probed = self._probed or ProbeResult(SWITCHED_OFF)
        environment = environments.scrub_environment(os.environ, dict(launch.environment)) | dict((mark,))
        label = probed.isolation.label(launch.profile)
        if label == "none":
            return SandboxedLaunch(launch.argv, environment, label)
        os.makedirs(self._around.scratch, mode=0o700, exist_ok=True)
        inside = environments.sandbox_environment(environment, dict(launch.environment), self._around.home)
        if probed.features is not None:
            return self._with_bubblewrap(launch, probed.features, inside, mark, label, proxy)
        return self._with_landlock(launch, inside, label)

    def _with_bubblewrap(
        self,
        launch: Launch,
        features: bubblewrap.BubblewrapFeatures,
        inside: dict[str, str],
        mark: tuple[str, str],
        label: str,
        proxy: str,
    ) -> SandboxedLaunch:
        with self._lock:
            held = self._limits = self._limits or kernel_limits.resource_limits(os.getuid())
            git = git_folders.git_folders(self._top)
            token, stubs = self._begin(launch, git)
            try:
                guarded = self._look()
                kept_away = (*git.unwelcome, *unwelcome_paths(self._around.root))
                seen = guarded_paths.record_links(guarded.links, kept_away) if token >= 0 else ()
                obeyed = frozenset((*guarded.protected, *guarded.links, *stubs)) if token >= 0 else None
                view = self._view(launch, proxy, git, guarded, stubs)
            except BaseException:
                self._release(SandboxedLaunch((), {}, "", token=token))
                raise
        options = bubblewrap.bubblewrap_arguments(view, features, inside)
        told = memory_file(b"\0".join(os.fsencode(one) for one in options) + b"\0")
        refusals = memory_file(
            seccomp.build_filter(platform.machine(), unix=launch.profile == "build" or bool(proxy))
        )
        # Options are passed in a file: every user of the machine can see a command line.
        wrapper = (features.program, "--args", str(told), "--seccomp", str(refusals), "--")
        # The environment of what starts the sandbox is readable inside, at /proc/1/environ.
        bare = {"PATH": "/usr/bin:/bin", **dict((mark,))}
        # Joining a control group takes as long as everything else: not for programs that only read.
        joining = () if launch.profile == "read" else held.outside
        bridge = (sys.executable, "-I", "-S", BRIDGE_PROGRAM, bubblewrap.PROXY_SOCKET) if proxy else ()
        argv = (*joining, *wrapper, *held.inside, *bridge, *launch.argv)
        return SandboxedLaunch(argv, bare, label, (told, refusals), token, seen, obeyed=obeyed)

    def _begin(self, launch: Launch, git: git_folders.GitFolders) -> tuple[int, tuple[str, ...]]:
        if launch.profile == "read":
            return -1, ()
        return self._stubs().begin(tuple(one for one in git.fixed if not os.path.lexists(one)))

    def _view(
        self,
        launch: Launch,
        proxy: str,
        git: git_folders.GitFolders,
        guarded: GuardedPaths,
        stubs: tuple[str, ...],
    ) -> bubblewrap.SandboxView:
        around, root, machine = self._around, self._around.root, self._machine()
        nested = git_folders.nested_git_folders(guarded.protected, git)
        git = replace(git, stores=(*git.stores, *nested.stores), fixed=(*git.fixed, *nested.fixed))
        shown, shares = machine.shown, launch.profile == "net" and not launch.hosts
        reached = (root, self._top, *git.stores, *shown, around.scratch)
        if shares and is_within(servers := os.path.realpath("/etc/resolv.conf"), "/run"):
            shown = (*shown, servers)
        return bubblewrap.SandboxView(
            root,
            self._top,
            around.home,
            launch.cwd,
            launch.profile,
            machine.outer,
            machine.inner,
            shown,
            (*machine.masked, *host_view.reachable_sockets(machine.outer, reached)),
            guarded,
            stubs,
            git,
            around.scratch,
            proxy,
            shares,
        )

    def _machine(self) -> host_view.HostView:
        """The view of the machine, at most some seconds old."""
        key, now = os.environ.get("PATH", ""), time.monotonic()
        if self._seen is None or self._seen[0] != key or now - self._seen[1] > HOST_VIEW_SECONDS:
            self._seen = key, now, host_view.look_at_host(self._around, os.environ, OWN_PREFIXES)
        return self._seen[2]

    def _look(self) -> GuardedPaths:
        """The guarded paths in the root, and the secrets of the work tree around it."""
        here, *around = [one.look() for one in self._watches]
        secret = (*here.secret, *(path for one in around for path in one.secret))
        return replace(here, secret=tuple(dict.fromkeys(secret)))

    def _with_landlock(self, launch: Launch, inside: dict[str, str], label: str) -> SandboxedLaunch:
        around, machine = self._around, self._machine()
        hides, shown = (*machine.outer, *machine.inner, *machine.masked), machine.shown
        writes = (around.scratch,) if launch.profile == "read" else (around.scratch, around.root)
        reads = (*kernel_limits.visible_paths(hides), *shown, around.root, self._top)
        # Landlock knows no host names: with a list of hosts, nothing can be reached.
        connects = launch.profile == "net" and not launch.hosts
        refusals = seccomp.build_filter(platform.machine(), unix=launch.profile == "build", internet=connects)
        plan = kernel_limits.launch_plan(
            launch.argv, reads=reads, writes=writes, connects=connects, refusals=refusals
        )
        fd = memory_file(plan)
        return SandboxedLaunch(
            kernel_limits.launcher_argv(fd), inside | {"TMPDIR": around.scratch}, label, (fd,)
        )

    def _release(self, held: SandboxedLaunch) -> str:
        if held.token < 0:
            return ""
        restored = guarded_paths.restore_links(
            held.before, os.path.join(self._around.state, "sandbox", "aside")
        )
        # What cannot be removed now is removed by the next launch, or at the next start.
        with contextlib.suppress(OSError):
            self._stubs().end(held.token)
        return guarded_paths.format_report(restored, self._new_guarded_paths(held), self._around.root)

    def _new_guarded_paths(self, held: SandboxedLaunch) -> tuple[str, ...]:
        """New paths that control programs: below the root nothing prevents such a name from appearing."""
        if held.obeyed is None:
            return ()
        with self._lock:
            now = self._watches[0].look()
        return tuple(sorted({*now.protected, *now.links} - held.obeyed))

    def _sweep(self) -> None:
        """Remove what a killed cockpit left in this workspace."""
        with contextlib.suppress(OSError):
            self._stubs().sweep()

    def _stubs(self) -> MountStubs:
        return MountStubs(self._around.root, self._around.state, self._around.home)
