"""Figures and pages."""

from irem.report._demo import demo_figures as demo_figures
from irem.report._demo import demo_page as demo_page
from irem.report._page import png as png
