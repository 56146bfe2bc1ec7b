"""Figures and pages."""

from irem.report._demo import demo_figures as demo_figures
from irem.report._demo import demo_page as demo_page
from irem.report._figures import element_error as element_error
from irem.report._figures import energy_by_error as energy_by_error
from irem.report._figures import error_by_size as error_by_size
from irem.report._figures import error_by_step as error_by_step
from irem.report._figures import landscape as landscape
from irem.report._figures import steps_spent as steps_spent
from irem.report._page import image as image
from irem.report._page import png as png
from irem.report._paper_figures import denoising_steps as denoising_steps
from irem.report._paper_figures import denoising_strip as denoising_strip
from irem.report._paper_figures import sat_curves as sat_curves
from irem.report._paper_tables import comparison as comparison
from irem.report._paper_tables import contradictions as contradictions
from irem.report._paper_tables import irem_table as irem_table
from irem.report._paper_tables import result_table as result_table
from irem.report._reproduction import as_text as as_text
from irem.report._reproduction import read_results as read_results
from irem.report._reproduction import reproduction_figures as reproduction_figures
from irem.report._reproduction import reproduction_markdown as reproduction_markdown
from irem.report._reproduction import reproduction_page as reproduction_page
from irem.report._tables import number as number
