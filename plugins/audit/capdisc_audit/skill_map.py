"""Where capabilities lie on a map in two dimensions: what is near in meaning is near on it."""

from __future__ import annotations

from typing import Any

from capdisc_indexer import lazy_imports

# The attraction of a point reaches so many nearest neighbours. Fewer tear groups apart, more give
# the picture of a plain projection, in which everything lies on one heap.
_NEIGHBOURS = 12
# Steps and their size, as t-SNE takes them (van der Maaten and Hinton 2008); 80 steps of 2,000
# points take 2 s.
_STEPS, _LARGE_STEPS, _LARGE = 250, 80, 700
_EXAGGERATION, _EXAGGERATED_STEPS = 4.0, 40


def place_points(vectors: Any) -> list[tuple[float, float]]:
    """A point in 0..1 by 0..1 for each unit vector (n, dim) float32: the two main components,
    then steps that draw near neighbours together and push all others apart.
    """
    np = lazy_imports.numpy()
    count = len(vectors)
    if count < 3:
        return [(0.5 if count == 1 else 0.25 + 0.5 * number, 0.5) for number in range(count)]
    points = _project(np, vectors)
    if count > _NEIGHBOURS:
        points = _gather_neighbours(np, vectors, points)
    low, high = points.min(axis=0), points.max(axis=0)
    spread = np.where(high > low, high - low, 1)
    return [(float(x), float(y)) for x, y in (points - low) / spread]


def _project(np: Any, vectors: Any) -> Any:
    """The two main components. A component may point either way: its largest part is positive."""
    centred = (vectors - vectors.mean(axis=0)).astype(np.float64)
    _, axes = np.linalg.eigh(centred.T @ centred)
    axes = axes[:, ::-1][:, :2]
    signs = np.sign(axes[np.abs(axes).argmax(axis=0), range(axes.shape[1])])
    return centred @ (axes * np.where(signs == 0, 1, signs))


def _gather_neighbours(np: Any, vectors: Any, points: Any) -> Any:
    """The points after the steps of t-SNE, with attraction between nearest neighbours only."""
    count = len(vectors)
    weights = _neighbour_weights(np, vectors)
    points = (points / (points.std() or 1) * 1e-1).astype(np.float32)
    velocity = np.zeros_like(points)
    steps = _STEPS if count <= _LARGE else _LARGE_STEPS
    rate = max(count / 12, 20.0)
    for step in range(steps):
        factor = _EXAGGERATION if step < min(_EXAGGERATED_STEPS, steps // 2) else 1.0
        norms = (points**2).sum(axis=1)
        kernel = 1 / (1 + np.maximum(norms[:, None] + norms - 2 * points @ points.T, 0))
        np.fill_diagonal(kernel, 0)
        forces = (factor * weights - kernel / kernel.sum()) * kernel
        gradient = 4 * (forces.sum(axis=1)[:, None] * points - forces @ points)
        velocity = (0.5 if step < _EXAGGERATED_STEPS else 0.8) * velocity - rate * gradient
        points += velocity
        points -= points.mean(axis=0)
    return points


def _neighbour_weights(np: Any, vectors: Any) -> Any:
    """Symmetric weights (n, n) float32 of sum 1 between nearest neighbours, by their cosines."""
    cosines = vectors @ vectors.T
    np.fill_diagonal(cosines, -2)
    nearest = np.argsort(-cosines, axis=1, kind="stable")[:, :_NEIGHBOURS]
    weights = np.zeros_like(cosines)
    rows = np.arange(len(vectors))[:, None]
    close = np.exp(8 * (cosines[rows, nearest] - cosines[rows, nearest[:, :1]]))
    weights[rows, nearest] = close / close.sum(axis=1, keepdims=True)
    weights += weights.T
    return weights / weights.sum()
