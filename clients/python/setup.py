"""Builds whit_log: a module in C over the C client, for Python 3.10 and newer by one build."""

import os
import shutil

from setuptools import Extension, setup
from setuptools.command.sdist import sdist

HERE = os.path.dirname(os.path.abspath(__file__))
# In a source package the C client is inside, in the repository beside.
CLIENT = "c" if os.path.isdir(os.path.join(HERE, "c")) else os.path.join("..", "c")


class SourcePackage(sdist):
    """Puts the C client into the package."""

    def make_release_tree(self, base_dir, files):
        """As setuptools, and `c` beside."""
        super().make_release_tree(base_dir, files)
        for name in ("include/whit_log.h", "src/whit_log.c"):
            to = os.path.join(base_dir, "c", name)
            os.makedirs(os.path.dirname(to), exist_ok=True)
            shutil.copyfile(os.path.join(HERE, CLIENT, name), to)


setup(
    packages=["whit_log"],
    ext_modules=[
        Extension(
            "whit_log._ring",
            ["whit_log/_ring.c"],
            include_dirs=[os.path.join(CLIENT, "include"), os.path.join(CLIENT, "src")],
            depends=[os.path.join(CLIENT, "src", "whit_log.c"), os.path.join(CLIENT, "include", "whit_log.h")],
            # A program that links the C client itself keeps its own.
            extra_compile_args=["-std=gnu11", "-O2", "-fvisibility=hidden"],
            py_limited_api=True,
        )
    ],
    options={"bdist_wheel": {"py_limited_api": "cp310"}},
    cmdclass={"sdist": SourcePackage},
)
