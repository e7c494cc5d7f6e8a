"""
In a scikit-learn pipeline
==========================

``SWWLEmbedding`` is a transformer: meshes in, rows out. Everything that scikit-learn does with rows follows: pipelines,
other regressors, grid searches, cross-validation.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVR

from swwl import SWWLEmbedding, datasets

table = datasets.make_airfoil(80, n_nodes=500, random_state=0, shape=True)
meshes = np.empty(len(table), dtype=object)
meshes[:] = list(table["mesh"])

# %%
# Something that depends on the shape alone: the camber that drew each airfoil.

camber = table["camber"].to_numpy()

# %%
# Three pipelines on the same rows.

embedding = SWWLEmbedding(n_iterations=1, n_projections=20, n_quantiles=50, measure="skin")
pipelines = {
    "ridge": make_pipeline(embedding, PCA(10), Ridge(1e-6)),
    "neighbors": make_pipeline(embedding, PCA(10), KNeighborsRegressor(5)),
    "SVR": make_pipeline(embedding, PCA(10, whiten=True), SVR(C=1.0, epsilon=1e-4)),
}
scores = {name: cross_val_score(pipeline, meshes, camber, cv=4) for name, pipeline in pipelines.items()}
for name, values in scores.items():
    print(f"{name:10} R² {values.mean():.3f} ± {values.std():.3f}")

# %%
# Parameters of the embedding are parameters of the pipeline.

search = GridSearchCV(pipelines["ridge"], {"swwlembedding__n_iterations": [0, 2], "pca__n_components": [5, 15]}, cv=3)
search.fit(meshes, camber)
print("the best:", search.best_params_, f"R² {search.best_score_:.3f}")

figure, ax = plt.subplots(figsize=(5, 3), layout="constrained")
ax.boxplot(list(scores.values()), tick_labels=list(scores))
ax.set_ylabel("R² of four folds")
plt.show()
