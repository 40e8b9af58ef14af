"""A stand-in for Google's side of Colab machines, as strict as what is known of it: the sign-in, the API, and machines whose Jupyter
servers and kernels are real."""

from e2e.support.colab_fake.api import CPU, SPECS, T4, ColabApi
from e2e.support.colab_fake.google import Google, google_at_loopback
from e2e.support.colab_fake.machine import ColabMachine, Spec
from e2e.support.colab_fake.server import serving
from e2e.support.colab_fake.sign_in import COLAB, EMAIL, GoogleSignIn

__all__ = [
    "COLAB",
    "CPU",
    "EMAIL",
    "SPECS",
    "T4",
    "ColabApi",
    "ColabMachine",
    "Google",
    "GoogleSignIn",
    "Spec",
    "google_at_loopback",
    "serving",
]
