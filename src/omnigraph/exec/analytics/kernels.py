"""Kernels: the value that every node of a block computes from its neighbours.

A kernel gets a block, ``seen``, which the neighbours of the block are positions in, and ``own``, the values of the
block's own nodes. The edges stay where they are; the values travel.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from omnigraph.exec.adjacency import Integers, Rows
from omnigraph.exec.analytics.blocks import EdgeBlock, Weights
from omnigraph.exec.analytics.vectors import Array

Kernel = Callable[[EdgeBlock, Array, Array], Array]

_LARGEST = np.iinfo(np.int64).max


def counts(block: EdgeBlock, _seen: Array, _own: Array) -> Array:
    """The number of neighbours, counting parallel edges."""
    return np.diff(block.offsets).astype(np.int64)


def sums(block: EdgeBlock, seen: Array, _own: Array) -> Array:
    """The weighted sum of the neighbours' values."""
    summed: Array = (block.matrix @ seen.T).T
    return summed


def distinct_sums(block: EdgeBlock, seen: Array, _own: Array) -> Array:
    """The sum of the neighbours' values, every neighbour once and without weights."""
    return sums(replace(block.without_parallels, weights=None), seen, _own)


def smallest(block: EdgeBlock, seen: Array, own: Array) -> Array:
    """The smallest value of the node and its neighbours."""
    return _least(block, seen[block.neighbours], own)


def smallest_alike(block: EdgeBlock, seen: Array, own: Array) -> Array:
    """The smallest value of the node and its neighbours of the same class; there are values and classes."""
    is_alike = seen[1][block.neighbours] == own[1][block.owners]
    return _least(block, np.where(is_alike, seen[0][block.neighbours], _LARGEST), own[0])


def nearest(block: EdgeBlock, seen: Array, own: Array) -> Array:
    """One relaxation: the node's distance, or a neighbour's plus the edge, whichever is smaller."""
    return _least(block, seen[block.neighbours] + (1.0 if block.weights is None else block.weights), own)


def _least(block: EdgeBlock, offered: Array, own: Array) -> Array:
    """The smallest of the own value and the values offered in the slots of a node."""
    found = own.copy()
    filled = block.filled
    if len(filled):
        found[filled] = np.minimum(found[filled], np.minimum.reduceat(offered, block.offsets[filled]))
    return found


def commonest(block: EdgeBlock, seen: Array, own: Array) -> Array:
    """The most common value of the neighbours, by weight, ties to the smallest; without neighbours the own value.

    Example: one node (owner 0) whose neighbours have the values 4 2 4 2 3::

        values   2 3 4     its groups, ascending
        votes    2 1 2
        winners  2         most votes are 2; the first of the winners is the smallest value
    """
    found = own.copy()
    if not len(block.neighbours):
        return found
    groups = grouped(block.owners, seen[block.neighbours], block.weights)
    firsts = first_of_each(groups.owners)
    most = np.repeat(np.maximum.reduceat(groups.sums, firsts), np.diff(np.append(firsts, len(groups.owners))))
    winners = np.flatnonzero(groups.sums == most)
    winners = winners[first_of_each(groups.owners[winners])]
    found[groups.owners[winners]] = groups.values[winners]
    return found


class Groups(NamedTuple):
    """Slots of equal owner and value, by owner and then value; and the sum of their weights, or their number."""

    owners: Rows
    values: Rows
    sums: Array
    slots: Integers | None
    """The first slot of every group, if slots have weights."""


def grouped(owners: Rows, values: Rows, weights: Weights | None) -> Groups:
    """Group slots by owner and value. Owners ascend."""
    low = int(values.min())
    width = int(values.max()) - low + 1
    if (int(owners[-1]) + 1) * width > _LARGEST:
        order = np.lexsort((values, owners))
        owners, values = owners[order], values[order]
    else:
        # One integer per slot: numpy sorts integers several times faster than pairs, and fastest without their order.
        keys = owners * width + (values - low)
        order = np.arange(0) if weights is None else np.argsort(keys, kind="stable")
        keys = np.sort(keys) if weights is None else keys[order]
        owners, values = keys // width, keys % width + low
    heads = np.flatnonzero(np.concatenate(([True], (owners[1:] != owners[:-1]) | (values[1:] != values[:-1]))))
    if weights is None:
        return Groups(owners[heads], values[heads], np.diff(np.append(heads, len(owners))), None)
    return Groups(owners[heads], values[heads], np.add.reduceat(weights[order], heads), order[heads])


def first_of_each(ascending: Rows) -> Rows:
    """The position of the first of every run of equal numbers."""
    return np.flatnonzero(np.concatenate(([True], ascending[1:] != ascending[:-1])))


def h_index(block: EdgeBlock, seen: Array, own: Array) -> Array:
    """The largest h for which h neighbours have at least the value h; at most the own value.

    Example: neighbours with the values 3 1 2 5, descending 5 3 2 1, at places 1 2 3 4. The smaller of value and place
    is 1 2 2 1, so h is 2.
    """
    filled = block.filled
    found = np.zeros_like(own)
    if not len(filled):
        return found
    values = seen[block.neighbours].astype(np.int64)
    width = int(values.max()) + 1
    # Sorted by owner, and within an owner by descending value.
    keys = np.sort(block.owners * width + (width - 1 - values))
    descending = width - 1 - keys % width
    places = np.arange(len(keys)) - np.repeat(block.offsets[:-1], np.diff(block.offsets)) + 1
    best = np.maximum.reduceat(np.minimum(descending, places), block.offsets[filled])
    found[filled] = np.minimum(own[filled], best)
    return found
