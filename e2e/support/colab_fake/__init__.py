"""A stand-in for Google's side of Colab machines, as strict as what is known of it. So far: the sign-in."""

from e2e.support.colab_fake.server import serving
from e2e.support.colab_fake.sign_in import COLAB, EMAIL, GoogleSignIn

__all__ = ["COLAB", "EMAIL", "GoogleSignIn", "serving"]
