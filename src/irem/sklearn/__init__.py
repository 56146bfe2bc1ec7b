"""Energies as estimators of scikit-learn, for its pipelines and searches."""

try:
    import sklearn as _sklearn  # noqa: F401
except ImportError as error:
    raise ImportError(
        "`irem.sklearn` needs scikit-learn; install it with `pip install 'irem[sklearn]'`."
    ) from error

from irem.sklearn.estimator import EnergyRegressor as EnergyRegressor
