# /// script
# requires-python = ">=3.11"
# dependencies = ["nox[uv]>=2026.4"]
# ///
"""Every task of this project: ``python3 noxfile.py --list`` names them.

``nox`` and ``uv run noxfile.py`` work as everywhere. Where neither tool is
installed, ``python3 noxfile.py`` fetches both, as uv.lock pins them.
"""

import sys

if sys.version_info < (3, 11):  # before the imports that need it
    found = ".".join(map(str, sys.version_info[:3]))
    sys.exit(f"noxfile.py: this is Python {found}; Python 3.11 or later is needed")

import argparse
import os
import platform
import runpy
import shutil
import subprocess
import tempfile
import tomllib
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent
BUILD = ROOT / "build"
# Those of chips, which pages ask where they are published.
HAS_COMPILERS = (sys.platform, platform.machine()) == ("linux", "x86_64")
BOOTSTRAP = ROOT / ".nox" / "bootstrap"
BOOKS = {"epub": "shardlessons.epub", "pdf": "shardlessons.pdf"}


def locked_uv() -> tuple[str, list[str]]:
    """Return uv's version in uv.lock and the hash of each of its wheels."""
    lock = tomllib.loads((ROOT / "uv.lock").read_text(encoding="utf-8"))
    (uv,) = (package for package in lock["package"] if package["name"] == "uv")
    return uv["version"], [wheel["hash"] for wheel in uv["wheels"]]


def fetch_uv() -> Path:
    """Return the folder that holds the locked uv; pip fills it the first time."""
    version, hashes = locked_uv()
    home = BOOTSTRAP / f"uv-{version}"
    if home.exists():
        return home
    BOOTSTRAP.mkdir(parents=True, exist_ok=True)
    # --target needs no venv module, and no leave to change this Python; the
    # two settings are some users' own, and pip would stop at them.
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--no-deps"]
    pip += ["--only-binary=:all:", "--require-hashes"]
    env = os.environ | {"PIP_USER": "0", "PIP_REQUIRE_VIRTUALENV": "0"}
    with tempfile.TemporaryDirectory(dir=BOOTSTRAP) as scratch:
        pins, filled = Path(scratch, "uv.txt"), Path(scratch, "uv")
        pins.write_text(" --hash=".join([f"uv=={version}", *hashes]))
        if subprocess.run([*pip, "-r", pins, "--target", filled], env=env).returncode:
            sys.exit(f"noxfile.py: pip could not install uv {version}, which runs nox")
        filled.rename(home)  # whole or not at all
    return home


def bootstrap() -> None:
    """Become nox, in an environment that holds what uv.lock says and no more."""
    sys.path.insert(0, str(fetch_uv()))
    os.environ["UV_PROJECT_ENVIRONMENT"] = str(BOOTSTRAP / "env")
    os.environ["UV_PYTHON_DOWNLOADS"] = "never"  # the Python in use is the one
    uv_run = ["uv", "run", "--quiet", "--locked", "--only-group", "nox"]
    uv_run += ["--project", str(ROOT), "--python", sys.executable]
    nox = ["python", "-m", "nox", "--noxfile", str(ROOT / "noxfile.py")]
    sys.argv = [*uv_run, *nox, *sys.argv[1:]]
    runpy.run_module("uv", run_name="__main__")


if __name__ == "__main__" and not (find_spec("nox") and find_spec("uv")):
    bootstrap()

import nox

nox.needs_version = ">=2026.4"
nox.options.default_venv_backend = "uv"
nox.options.reuse_venv = "yes"
# Without it an environment outlives the Python that it was made for.
os.environ.setdefault("NOX_ENABLE_STALENESS_CHECK", "1")

# What a page states must hang on no setting of the machine that builds it.
ENV: dict[str, str | None] = {
    **{name: None for name in os.environ if name.startswith(("JAX_", "XLA_"))},
    "JAX_PLATFORMS": "cpu",
    # Releases before 0.10 look for NVIDIA's libraries all the same.
    "JAX_SKIP_CUDA_CONSTRAINTS_CHECK": "1",
    "PYTHONDONTWRITEBYTECODE": None,  # where it is set, a build takes twice as long
}


def sync(session: nox.Session, group: str) -> None:
    """Make the session's environment what uv.lock says, hashes checked."""
    env = {"UV_PROJECT_ENVIRONMENT": session.virtualenv.location}
    # Quiet: a warning for each cache that lies on another disk says nothing.
    uv_sync = ["uv", "sync", "--quiet", "--locked", "--group", group]
    session.run_install(*uv_sync, env=env)


def uv_program() -> str:
    """Return uv's path: as nox's environment has it, or as the machine has."""
    if find_spec("uv"):
        from uv import find_uv_bin

        return find_uv_bin()
    return shutil.which("uv") or "uv"


def build(session: nox.Session, codes: list[int]) -> Path:
    """Build the site from nothing, as the session's arguments ask."""
    parser = argparse.ArgumentParser(prog=f"nox -s {session.name} --")
    builders = ["html", "dirhtml", "linkcheck", *BOOKS]
    parser.add_argument("builder", nargs="?", choices=builders, default="html")
    parser.add_argument("output", nargs="?", type=Path, help="a new or empty folder")
    parser.add_argument("--jax", metavar="VERSION", help="in place of the locked one")
    parser.add_argument("--read-by", metavar="BUILDER", help="whose pages to take")
    parser.add_argument(
        "-D", action="append", dest="settings", default=[], metavar="NAME=VALUE"
    )
    args = parser.parse_args(session.posargs)
    output = (args.output or BUILD / args.builder).resolve()
    doctrees = BUILD / "doctrees" / (args.read_by or args.builder)
    if args.read_by and not doctrees.exists():
        session.error(f"no page is read: run nox -s docs -- {args.read_by} first")

    # Never into what an earlier build left, unless asked: Sphinx skips pages
    # that did not change, and with them their failures.
    kept = [doctrees] if args.read_by else []
    for folder in {BUILD / args.builder, BUILD / "pages", doctrees}.difference(kept):
        shutil.rmtree(folder, ignore_errors=True)
    if output.exists() and any(output.iterdir()):
        session.error(f"{output} holds files: name a new or an empty folder")

    # JAX finds compilers of another release, and complains.
    printed = args.builder == "pdf"
    sync(session, "pages" if args.jax else "book" if printed else "docs")
    env = dict(ENV)
    if args.jax:
        # Laid over the environment, which stays as locked, with the compilers
        # of its release. After a patch release of jax alone, the newest
        # jaxlib is older than its jax.
        overlay = f"{session.virtualenv.location}-jax-{args.jax}"
        extras = "[cuda13-local,tpu]" if HAS_COMPILERS else ""
        jax = [f"jax{extras}=={args.jax}", f"jaxlib<={args.jax}"]
        uv_pip = ["uv", "pip", "install", "--quiet", "--target", overlay]
        session.run_install(*uv_pip, *jax)
        env["PYTHONPATH"] = overlay

    written = BUILD / "pages" if args.builder in BOOKS else output
    session.run(
        "sphinx-build",
        "-n",  # a cross-reference that finds nothing is a warning
        "-W",  # a warning fails the build,
        "--keep-going",  # but only once all of them have been shown
        *("-j", str(2 * (os.cpu_count() or 1))),  # the longest pages are dealt together
        *("-d", doctrees),  # outside of what is published
        *("-D", f"shardlessons_explorer_cache={BUILD / 'explorer'}"),
        *(f"-D{setting}" for setting in args.settings),
        *("-b", "epub" if printed else args.builder),
        *("docs", written),
        env=env,
        success_codes=codes,
    )
    if args.builder in BOOKS:
        # One file alone is published.
        output.mkdir(parents=True, exist_ok=True)
        epub, book = written / "shardlessons.epub", output / BOOKS[args.builder]
        if printed:
            command = ["python", "-m", "shardlessons.sphinxext.pdf", epub, book]
            session.run(*command, env=env)
        else:
            shutil.copy(epub, book)
        shutil.rmtree(written)
    return output


@nox.session
def docs(session: nox.Session) -> None:
    """Build the site; arguments: [builder] [folder] [--jax VERSION] [-D NAME=VALUE]."""
    output = build(session, codes=[0])
    index, *books = (output / name for name in ["index.html", *BOOKS.values()])
    for book in filter(Path.exists, books):
        session.log(f"The book is at {book}")
        return
    session.log(f"The site is at {index if index.exists() else output}")


@nox.session
def tests(session: nox.Session) -> None:
    """Run all tests, a process a core; or those that the arguments name."""
    sync(session, "tests")
    # What takes longest comes first, as tests/conftest.py has sorted it.
    whole = ["-n", "auto", "--dist", "loadfile", "--no-loadscope-reorder"]
    session.run("pytest", *(session.posargs or whole), env=ENV)


@nox.session(default=False)
def site(session: nox.Session) -> None:
    """Read the site in a browser, as built or from a folder that is the argument."""
    built = Path(*session.posargs) if session.posargs else build(session, codes=[0])
    sync(session, "site")
    session.run("python", "tests/site/prepare.py")
    options = ["--confcutdir", "tests/site", "--site", built]
    measured = "tests/site/test_lighthouse.py"  # alone: other work slows a page
    session.run("pytest", "tests/site", *options, "--ignore", measured, "-n", "auto", env=ENV)
    session.run("pytest", measured, *options, env=ENV)


@nox.session(default=False)
def accept(session: nox.Session) -> None:
    """Write what a build found in place of what the pages say; as docs."""
    if not {"linkcheck", *BOOKS}.isdisjoint(session.posargs):
        session.error("name html or dirhtml, or nothing: other builds keep no facts")
    facts = build(session, codes=[0, 1]) / "facts.json"  # 1: they differ
    session.run("python", "-m", "shardlessons.sphinxext.accept", facts, env=ENV)


@nox.session(default=False)
def versions(session: nox.Session) -> None:
    """Write what each fact was, by release; or print what VERSION changes."""
    sync(session, "pages")
    survey = ["python", "-m", "shardlessons.sphinxext.survey"]
    session.run(*survey, "--uv", uv_program(), *session.posargs, env=ENV)


@nox.session(default=False, venv_backend="none")
def newest(session: nox.Session) -> None:
    """Print each fact that the newest jax changes, and fail if there is one."""
    session.notify("versions", posargs=["newest"])


@nox.session(default=False)
def live(session: nox.Session) -> None:
    """Serve the site to this machine alone, and rebuild it on change."""
    sync(session, "live")
    shutil.rmtree(BUILD / "live", ignore_errors=True)
    options = ["-n", "-j", "auto", "--host", "127.0.0.1", "--watch", "src"]
    options += ["-D", f"shardlessons_explorer_cache={BUILD / 'explorer'}"]
    folders = ["docs", BUILD / "live"]
    session.run("sphinx-autobuild", *options, *session.posargs, *folders, env=ENV)


if __name__ == "__main__":
    nox.main()
