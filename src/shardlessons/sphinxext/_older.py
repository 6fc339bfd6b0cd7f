"""A page's code as a release writes it that has only Auto axes.

Before jax 0.5 there are no axis types and no ``jax_num_cpu_devices``. Every
page begins with both, so such a release could answer nothing. What the pages
ask of it, it does by itself: all its axes are what is Auto today. So, where
jax lacks the name, the import of ``AxisType`` is left out, and with it an
``axis_types=`` that says Auto alone; and the number of CPU devices is set
where it was set then. No part of jax is changed, and ``AxisType`` stays
undefined: what depends on it is not answered.
"""

from __future__ import annotations

import ast

AXIS_TYPE = "AxisType"
CPU_DEVICES = "jax_num_cpu_devices"
NO_AXIS_TYPE = "ImportError: cannot import name 'AxisType' from 'jax.sharding'"
_FLAG = "--xla_force_host_platform_device_count"


def lacking() -> frozenset[str]:
    """Which of the names jax lacks."""
    import jax

    has = {
        AXIS_TYPE: hasattr(jax.sharding, AXIS_TYPE),
        CPU_DEVICES: hasattr(jax.config, CPU_DEVICES),
    }
    return frozenset(name for name, there in has.items() if not there)


class Adapted(ast.NodeTransformer):
    """Rewrite a cell for a jax that lacks some names."""

    def __init__(self, without: frozenset[str]) -> None:
        self.without = without

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if AXIS_TYPE not in self.without or node.module != "jax.sharding":
            return node
        names = [alias for alias in node.names if alias.name != AXIS_TYPE]
        if names == node.names:
            return node
        left = ast.ImportFrom(node.module, names, node.level) if names else ast.Pass()
        return ast.copy_location(left, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if AXIS_TYPE in self.without:
            node.keywords = [word for word in node.keywords if not _is_auto(word)]
        match node:
            case ast.Call(
                func=ast.Attribute(attr="update"),
                args=[ast.Constant(value=option), count],
            ) if option == CPU_DEVICES in self.without:
                source = (
                    "__import__('os').environ.update("
                    f"XLA_FLAGS=f'{_FLAG}={{{ast.unparse(count)}}}')"
                )
                return _placed(ast.parse(source, mode="eval").body, node)
        return node


def _is_auto(word: ast.keyword) -> bool:
    """Whether it is ``axis_types=``, and names Auto and nothing else."""
    names = {
        ast.unparse(part)
        for part in ast.walk(word.value)
        if isinstance(part, ast.Name | ast.Attribute)
    }
    return word.arg == "axis_types" and names == {AXIS_TYPE, f"{AXIS_TYPE}.Auto"}


def _placed(new: ast.expr, old: ast.expr) -> ast.expr:
    for part in ast.walk(new):
        ast.copy_location(part, old)
    return new


if __name__ == "__main__":
    print(*sorted(lacking()))
