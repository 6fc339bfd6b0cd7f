"""Every pair of specs of a matmul, and what its compiled program does."""

from __future__ import annotations

from jax.sharding import PartitionSpec as P

# Two (512, 512) float32 arrays under the two specs, multiplied; the spec that
# comes out, KiB per device of arguments and of output, and the collectives.
PAIRS = """
-,-        -,-        -,-        2048 1024 none
-,-        data,-     -,-        1280 1024 AG 128,512->512,512 data
-,-        model,-    -,-        1536 1024 AG 256,512->512,512 model
-,-        -,data     -,data     1280  256 none
-,-        -,model    -,model    1536  512 none
-,-        data,model -,model    1152  512 AG 128,256->512,256 data
-,-        model,data -,data     1152  256 AG 256,128->512,128 model
data,-     -,-        data,-     1280  256 none
data,-     data,-     data,-      512  256 AG 128,512->512,512 data
data,-     model,-    data,-      768  256 AR 128,512->128,512 model
data,-     -,data     data,-      512  256 AG 512,128->512,512 data
data,-     -,model    data,model  768  128 none
data,-     data,model data,model  384  128 AG 128,256->512,256 data
data,-     model,data data,-      384  256 AG 256,128->256,512 data;
    AR 128,512->128,512 model
model,-    -,-        model,-    1536  512 none
model,-    data,-     model,-     768  512 AR 256,512->256,512 data
model,-    model,-    model,-    1024  512 AR 256,512->256,512 data;
    CP 128,512->128,512 pairs
model,-    -,data     model,data  768  128 none
model,-    -,model    model,-    1024  512 AG 512,128->512,512 data;
    CP 512,128->512,128 pairs
model,-    data,model model,-     640  512 AG 128,256->128,512 model;
    AR 256,512->256,512 data
model,-    model,data model,data  640  128 AG 256,128->512,128 model
-,data     -,-        -,-        1280 1024 AG 512,128->512,512 data
-,data     data,-     -,-         512 1024 AR 512,512->512,512 data
-,data     model,-    -,-         768 1024 AG 256,512->512,512 model;
    AG 512,128->512,512 data
-,data     -,data     -,data      512  256 AG 512,128->512,512 data
-,data     -,model    -,model     768  512 AR 512,256->512,256 data
-,data     data,model -,model     384  512 AR 512,256->512,256 data
-,data     model,data -,data      384  256 AG 256,128->512,128 model;
    AG 512,128->512,512 data
-,model    -,-        -,-        1536 1024 AG 512,256->512,512 model
-,model    data,-     -,-         768 1024 AG 128,512->512,512 data;
    AG 512,256->512,512 model
-,model    model,-    -,-        1024 1024 AR 512,512->512,512 model
-,model    -,data     -,data      768  256 AR 512,128->512,128 model
-,model    -,model    -,model    1024  512 AR 512,256->512,256 data;
    CP 512,128->512,128 pairs
-,model    data,model -,model     640  512 AR 512,256->512,256 data;
    CP 512,128->512,128 pairs
-,model    model,data -,data      640  256 AR 512,128->512,128 model
data,model -,-        data,-     1152  256 AG 128,256->128,512 model
data,model data,-     data,-      384  256 AG 128,256->128,512 model;
    AG 128,512->512,512 data
data,model model,-    data,-      640  256 AR 128,512->128,512 model
data,model -,data     data,-      384  256 AG 128,256->128,512 model;
    AG 512,128->512,512 data
data,model -,model    data,model  640  128 AG 128,256->128,512 model
data,model data,model data,model  256  128 AG 128,256->128,512 model;
    AG 128,256->512,256 data
data,model model,data data,-      256  256 AG 256,128->256,512 data;
    AR 128,512->128,512 model
model,data -,-        model,-    1152  512 AG 256,128->256,512 data
model,data data,-     model,-     384  512 AR 256,512->256,512 data
model,data model,-    model,-     640  512 AR 256,512->256,512 data;
    CP 128,512->128,512 pairs
model,data -,data     model,data  384  128 AG 256,128->256,512 data
model,data -,model    model,-     640  512 AG 256,128->256,512 data;
    AG 512,128->512,512 data;
    CP 512,128->512,128 pairs
model,data data,model model,-     256  512 AG 128,256->128,512 model;
    AR 256,512->256,512 data
model,data model,data model,data  256  128 AG 256,128->256,512 data;
    AG 256,128->512,128 model
"""
LINES = PAIRS.replace(";\n   ", ";").strip().splitlines()
KINDS = {
    "AG": "all-gather",
    "AR": "all-reduce",
    "CP": "collective-permute",
}


def pair(line: str) -> tuple[P, P, P, int, int, list[str]]:
    lhs, rhs, out, argument, output, sent = line.split(maxsplit=5)
    specs = [
        P(*(None if axis == "-" else axis for axis in spec.split(",")))
        for spec in (lhs, rhs, out)
    ]
    collectives = []
    for one in sent.split("; ") if sent != "none" else []:
        kind, shapes, over = one.split()
        before, after = shapes.split("->")
        collectives.append(
            f"{KINDS[kind]} over {over}: "
            f"float32[{before}] -> float32[{after}]"
        )
    return *specs, int(argument), int(output), sorted(collectives)
