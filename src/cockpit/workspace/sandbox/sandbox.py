"""Turns a launch into the command that is started: inside bubblewrap, confined by Landlock, or unchanged.

`Sandbox` caches facts about one workspace between launches. Decides nothing about what may run.
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
from cockpit.workspace.sandbox.guarded_paths import GuardedPaths, GuardedPathWatch, MountStubs
from cockpit.workspace.sandbox.probe import SWITCHED_OFF, ProbeResult, memory_file, probe_sandbox
from cockpit.workspace.sandbox.proxy import Proxy
from cockpit.workspace.sandbox.values import SandboxedLaunch, SandboxUse, Surroundings

BRIDGE_PROGRAM = str(Path(__file__).with_name("bridge.py"))
# Our own Python, and the part of cockpit that runs inside.
OWN_PREFIXES = (sys.prefix, sys.base_prefix, str(Path(__file__).parent))
# Seconds before toolchains and the like are looked for again.
HOST_VIEW_SECONDS = 20.0
_PROBE_RESULTS: dict[str, ProbeResult] = {}
_PROBE_LOCK = threading.Lock()


class Sandbox:
    """Prepares the sandboxed programs of one root. Methods that are not coroutines block."""

    def __init__(self, around: Surroundings, use: SandboxUse) -> None:
        self._around, self._use = around, use
        self._lock = threading.Lock()
        self._limits: kernel_limits.ResourceLimits | None = None
        self._top = git_folders.work_tree_top(around.root, around.home) if around.root != "/" else "/"
        tops = dict.fromkeys((around.root, self._top))
        self._watches = [GuardedPathWatch(top, around.home) for top in tops]
        self._probed: ProbeResult | None = None
        self._host_view: tuple[str, float, host_view.HostView] | None = None

    async def isolation(self) -> Isolation:
        if self._probed is None:
            self._probed = await asyncio.to_thread(self._probe)
        return self._probed.isolation

    async def prepare(self, launch: Launch, mark: tuple[str, str]) -> SandboxedLaunch:
        """Prepare the start of `launch`. The caller closes the `fds` of the result, and passes it to
        `release` at the end. Raises `SandboxMissing`."""
        isolation = await self.isolation()
        if self._use == "required" and isolation.level != "full":
            reason = f"the settings require a sandbox, but none works here: {isolation.reason}"
            raise SandboxMissing(reason, 'fix that, or set [sandbox] use = "auto" in your own settings')
        proxy = Proxy(launch.hosts) if launch.profile == "net" and launch.hosts else None
        if proxy is None or isolation.level != "full":
            return await asyncio.to_thread(self._prepare, launch, mark)
        await proxy.start()
        try:
            return replace(await asyncio.to_thread(self._prepare, launch, mark, proxy.path), proxy=proxy)
        except BaseException:
            await proxy.close()
            raise

    async def release(self, launched: SandboxedLaunch) -> str:
        """Clean up after a launch. Returns what a reader of its output must know, or an empty string."""
        if launched.proxy is not None:
            await launched.proxy.close()
        return await asyncio.to_thread(self._release, launched)

    def close(self) -> None:
        for watch in self._watches:
            watch.stop()
        if self._limits is not None:
            kernel_limits.remove_group(self._limits)

    def _probe(self) -> ProbeResult:
        if self._use == "off":
            return ProbeResult(SWITCHED_OFF)
        with _PROBE_LOCK:
            # The machine does not change while cockpit runs, except for where bubblewrap is looked for.
            path = os.environ.get("PATH", "")
            if path not in _PROBE_RESULTS:
                _PROBE_RESULTS[path] = probe_sandbox()
            result = _PROBE_RESULTS[path]
        if result.isolation.level == "full":
            # Remove what a killed cockpit left in this workspace.
            with contextlib.suppress(OSError):
                self._stubs().sweep()
            # A daemon: nothing waits for the first scan of a huge root that no launch needed.
            threading.Thread(target=self._warm, name="guarded", daemon=True).start()
        return result

    def _warm(self) -> None:
        with self._lock:
            self._guarded_paths()

    def _prepare(self, launch: Launch, mark: tuple[str, str], proxy: str = "") -> SandboxedLaunch:
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
            limits = self._limits = self._limits or kernel_limits.resource_limits(os.getuid())
            git = git_folders.git_folders(self._top)
            token, stubs = -1, tuple[str, ...]()
            if launch.profile != "read":
                token, stubs = self._stubs().begin(
                    tuple(path for path in git.fixed if not os.path.lexists(path))
                )
            try:
                guarded = self._guarded_paths()
                unwelcome = (*git.unwelcome, *guarded_paths.unwelcome_paths(self._around.root))
                before = guarded_paths.record_links(guarded.links, unwelcome) if token >= 0 else ()
                obeyed = frozenset((*guarded.protected, *guarded.links, *stubs)) if token >= 0 else None
                view = self._view(launch, proxy, git, guarded, stubs)
            except BaseException:
                self._release(SandboxedLaunch((), {}, "", token=token))
                raise
        options = bubblewrap.bubblewrap_arguments(view, features, inside)
        # Options are passed in a file: every user of the machine can see a command line.
        options_file = memory_file(b"\0".join(map(os.fsencode, options)) + b"\0")
        has_unix_sockets = launch.profile == "build" or bool(proxy)
        refusals = memory_file(seccomp.build_filter(platform.machine(), unix=has_unix_sockets))
        wrapper = (features.program, "--args", str(options_file), "--seccomp", str(refusals), "--")
        # The environment of bubblewrap itself is readable inside, at /proc/1/environ.
        environment = {"PATH": "/usr/bin:/bin", **dict((mark,))}
        # Joining a control group takes as long as everything else: not for programs that only read.
        joining = () if launch.profile == "read" else limits.outside
        bridge = (sys.executable, "-I", "-S", BRIDGE_PROGRAM, bubblewrap.PROXY_SOCKET) if proxy else ()
        argv = (*joining, *wrapper, *limits.inside, *bridge, *launch.argv)
        return SandboxedLaunch(
            argv, environment, label, (options_file, refusals), token, before, obeyed=obeyed
        )

    def _view(
        self,
        launch: Launch,
        proxy: str,
        git: git_folders.GitFolders,
        guarded: GuardedPaths,
        stubs: tuple[str, ...],
    ) -> bubblewrap.SandboxView:
        around, root, machine = self._around, self._around.root, self._look_at_host()
        nested = git_folders.nested_git_folders(guarded.protected, git)
        git = replace(git, stores=(*git.stores, *nested.stores), fixed=(*git.fixed, *nested.fixed))
        shown, shares = machine.shown, launch.profile == "net" and not launch.hosts
        reached = (root, self._top, *git.stores, *shown, around.scratch)
        if shares and is_within(servers := os.path.realpath("/etc/resolv.conf"), "/run"):
            shown = (*shown, servers)
        masked = (*machine.masked, *host_view.reachable_sockets(machine.outer, reached))
        host = replace(machine, shown=shown, masked=masked)
        cwd, profile = launch.cwd, launch.profile
        return bubblewrap.SandboxView(
            root,
            self._top,
            around.home,
            cwd,
            profile,
            host,
            guarded,
            stubs,
            git,
            around.scratch,
            proxy,
            shares,
        )

    def _look_at_host(self) -> host_view.HostView:
        """The view of the machine, at most some seconds old."""
        key, now, cached = os.environ.get("PATH", ""), time.monotonic(), self._host_view
        if cached is None or cached[0] != key or now - cached[1] > HOST_VIEW_SECONDS:
            cached = key, now, host_view.look_at_host(self._around, os.environ, OWN_PREFIXES)
            self._host_view = cached
        return cached[2]

    def _guarded_paths(self) -> GuardedPaths:
        """The guarded paths in the root, and the secrets of the checkout around it."""
        looks = [watch.look() for watch in self._watches]
        secret = dict.fromkeys(path for guarded in looks for path in guarded.secret)
        return replace(looks[0], secret=tuple(secret))

    def _with_landlock(self, launch: Launch, inside: dict[str, str], label: str) -> SandboxedLaunch:
        around, machine = self._around, self._look_at_host()
        hides, shown = (*machine.outer, *machine.inner, *machine.masked), machine.shown
        writes = (around.scratch,) if launch.profile == "read" else (around.scratch, around.root)
        reads = (*kernel_limits.visible_paths(hides), *shown, around.root, self._top)
        # Landlock cannot filter by host name: with a list of hosts, nothing can be reached.
        connects = launch.profile == "net" and not launch.hosts
        refusals = seccomp.build_filter(platform.machine(), unix=launch.profile == "build", internet=connects)
        plan = kernel_limits.launch_plan(
            launch.argv, reads=reads, writes=writes, connects=connects, refusals=refusals
        )
        fd = memory_file(plan)
        environment = inside | {"TMPDIR": around.scratch}
        return SandboxedLaunch(kernel_limits.launcher_argv(fd), environment, label, (fd,))

    def _release(self, launched: SandboxedLaunch) -> str:
        if launched.token < 0:
            return ""
        aside = os.path.join(self._around.state, "sandbox", "aside")
        restored = guarded_paths.restore_links(launched.before, aside)
        # What cannot be removed now is removed by the next launch, or at the next start.
        with contextlib.suppress(OSError):
            self._stubs().end(launched.token)
        appeared: tuple[str, ...] = ()
        if launched.obeyed is not None:
            # Below the root nothing prevents a name that controls programs from appearing.
            with self._lock:
                now = self._watches[0].look()
            appeared = tuple(sorted({*now.protected, *now.links} - launched.obeyed))
        return guarded_paths.format_report(restored, appeared, self._around.root)

    def _stubs(self) -> MountStubs:
        return MountStubs(self._around.root, self._around.state, self._around.home)
