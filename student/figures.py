# ruff: noqa: F401 (a front door: what it imports is for others)
"""The lesson's pictures, animations and measurements: the one module that notebook and script import.

draw_...(lang) returns a matplotlib Figure and play_...(lang) an animation: the last expression of a cell
shows it. Everything else returns numbers. No function needs a screen or an installed font.
"""

from student.measures.formula import four_steps
from student.measures.heads import change_one_head, head_maps, parameter_count, shape_flow
from student.measures.masking import mask_experiment, pass_times, prefix_error
from student.measures.routes import (
    attention_lines,
    lines_changed,
    rnn_gradients,
    rnn_shares,
    sequential_steps,
    welded_lines,
)
from student.measures.scaling import D_KS, dot_product_variance, saturation
from student.measures.sentences import SENTENCES, toy_sentence
from student.pictures.formula import draw_four_steps
from student.pictures.heads import draw_head_change, draw_head_maps, draw_head_split
from student.pictures.heatmap import KEY, LABELS, QUERY, TOKENS, attention_heatmap
from student.pictures.lines import play_attention, play_fully_connected
from student.pictures.masking import draw_mask_experiment, draw_one_pass, draw_pass_times
from student.pictures.rnn import draw_rnn_decay, play_rnn
from student.pictures.scaling import draw_saturation, draw_variance
from student.pictures.shapes import draw_shape_flow
from student.pictures.style import COLOURS, ink_on, luminance
