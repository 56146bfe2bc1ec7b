"""Pictures without noise."""

from irem.apps.pictures.denoising import Denoised as Denoised
from irem.apps.pictures.denoising import Tiling as Tiling
from irem.apps.pictures.denoising import denoise as denoise
from irem.apps.pictures.denoising import num_tiles as num_tiles
from irem.apps.pictures.frames import Frames as Frames
from irem.apps.pictures.frames import denoising_strip as denoising_strip
from irem.apps.pictures.frames import middle as middle
from irem.apps.pictures.frames import psnr as psnr
from irem.apps.pictures.frames import walk_frames as walk_frames
