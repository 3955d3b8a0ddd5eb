"""A model on this machine behind an OpenAI-compatible server. Run by the tests in its own Python.

Arguments: the file of the weights. Prints its address; ends with its standard input.
"""

import sys

import xllamacpp  # type: ignore[import-not-found]

CONTEXT = 2048
LONGEST_ANSWER = 96

params = xllamacpp.CommonParams()
params.model.path = sys.argv[1]
params.model_alias = {"smollm2"}
params.hostnames, params.port = ["127.0.0.1"], 0
params.n_ctx, params.n_predict = CONTEXT, LONGEST_ANSWER
params.n_parallel = 1
params.cpuparams.n_threads = 2
params.sampling.temp = 0.0
params.warmup = params.ui = False
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
sys.stdin.read()
