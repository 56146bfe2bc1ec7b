"""A server of trained models over HTTP, and a page to watch descents (`irem[serve]`)."""

from irem.serve.app import create_app as create_app
from irem.serve.limits import Limits as Limits
from irem.serve.models import ServedModel as ServedModel
from irem.serve.models import load_models as load_models
from irem.serve.server import open_socket as open_socket
from irem.serve.server import run_server as run_server
