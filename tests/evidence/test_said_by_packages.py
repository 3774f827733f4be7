"""What packages that are compiled against torch, their builds and pip say: each row of the messages is recognised in
the words of packages that none of the labelled tickets is about, and leads to its finding, or to none."""

from __future__ import annotations

from doctor.accounting.judgement import judged
from doctor.evidence.read import read
from tests.table import table

# row, the finding that it leads to ("" where the message alone doesn't decide), variants
SAID = (
    (
        "extension-not-built", "extension-abi-mismatch",
        "ImportError: cannot import name 'roiaware_pool3d_cuda' from 'mmdet3d.ops.roiaware_pool3d' (/w/mmdet3d/ops/x.py)",
        "ImportError: cannot import name '_C' from partially initialized module 'yolact_edge' (most likely due to a "
        "circular import)",
        "ModuleNotFoundError: No module named 'pytorch3d._C'",
        "ModuleNotFoundError: No module named 'fused_weight_gradient_mlp_cuda'",
        "ModuleNotFoundError: No module named 'alt_cuda_corr'",
    ),
    (
        "extension-name-undefined", "extension-abi-mismatch",
        "NameError: name 'deform_conv_cuda' is not defined",
        "NameError: name '_ext' is not defined",
        'NameError: name "_C" is not defined. Did you mean: "_"?',
    ),
    (
        "operator-without-device", "extension-abi-mismatch",
        "RuntimeError: roi_align_forward_impl: implementation for device cuda:1 not found.",
        "RuntimeError: ms_deform_attn_impl_forward_impl: implementation for device cuda:0 not found.",
        "RuntimeError: modulated_deform_conv_forward_impl: implementation for device npu:0 not found.",
    ),
    (
        "graph-library-without-gpu", "extension-abi-mismatch",
        "DGLError: [10:01:02] C:\\Users\\x\\dgl\\src\\runtime\\c_runtime_api.cc:82: Check failed: allow_missing: "
        "Device API cuda is not enabled. Please install the cuda version of dgl.",
        "dgl._ffi.base.DGLError: /opt/dgl/src/array/array.cc:604: Operator COOToCSR does not support cuda device.",
        "Check failed: allow_missing: Device API gpu is not enabled.",
    ),
    (
        "package-without-cuda", "extension-abi-mismatch",
        "RuntimeError: Minkowski was not compiled with CUDA support",
        "ValueError: This CTranslate2 package was not compiled with CUDA support",
        "Exception: Open3D was not built with PyTorch support!",
    ),
    (
        "quantizer-kernels-missing", "extension-abi-mismatch",
        "CUDA extension not installed.",
        "2024-01-05 10:00:00 WARNING:CUDA kernels for auto_gptq are not installed, this will result in very slow "
        "inference speed.",
        "WARNING:auto_gptq.nn_modules.qlinear_old:CUDA extension not installed.",
    ),
    (
        "kernel-of-architecture-missing", "extension-abi-mismatch",
        "AssertionError: SM90 kernel is not available. Make sure you have GPUs with compute capability 9.0.",
        "AssertionError: SM80 kernel is not available.",
        "OSError: Could not find compatible tinycudann extension for compute capability 120.",
    ),
    (
        "binding-type-unregistered", "extension-abi-mismatch",
        "ImportError: arg(): could not convert default argument 'stream: Stream' in method '<class 'k.core.Run'>.go' "
        "into a Python object (type not registered yet?)",
        'ImportError: generic_type: type "Tensor" is already registered!',
        'ImportError: generic_type: cannot initialize type "Mode": an object with that name is already defined',
    ),
    (
        "package-wants-other-torch", "extension-abi-mismatch",
        "Exception: Version mismatch: Open3D needs PyTorch version 2.2.*, but version 2.6.0+cu124 is installed!",
        "Version mismatch: Open3D needs CUDA version 12.1, but PyTorch is built with CUDA 11.8!",
        "Version mismatch: mylib needs PyTorch version 1.13.*, but version 2.0.0 is installed!",
    ),
    (
        "op-not-implemented-on-cpu", "",
        "RuntimeError: Not implemented on the CPU",
        "RuntimeError: attn_softmax_inplace_backward_ not implemented on CPU",
        "RuntimeError: layernorm_forward_ not implemented on CPU",
    ),
    (
        "onnxruntime-cuda-not-loaded", "windows-dll-missing",
        "[ONNXRuntimeError] : 1 : FAIL : LoadLibrary failed with error 126 \"\" when trying to load "
        "\"C:\\v\\Lib\\site-packages\\onnxruntime\\capi\\onnxruntime_providers_cuda.dll\"",
        "Error loading \"C:\\v\\onnxruntime\\capi\\onnxruntime_providers_cuda.dll\" which is missing. (Error 126)",
        "RuntimeError: CUDA_PATH is set but CUDA wasnt able to be loaded. Please install the correct version of CUDA",
    ),
    (
        "onnxruntime-cuda-not-created", "",
        "Failed to create CUDAExecutionProvider. Please reference the execution provider's requirements page",
        "[W:onnxruntime:Default, onnxruntime_pybind_state.cc:535 CreateExecutionProviderInstance] Failed to create "
        "CUDAExecutionProvider.",
        "Failed to create CUDAExecutionProvider. Require cuDNN 8.* and CUDA 11.*.",
    ),
    (
        "onnxruntime-cpu-provider", "",
        "Applied providers: ['CPUExecutionProvider'], with options: {'CPUExecutionProvider': {}}",
        "find model: det_10g.onnx\nApplied providers: ['CPUExecutionProvider']",
        "INFO: Applied providers: ['CPUExecutionProvider'], with options",
    ),
    (
        "onnxruntime-cpu-provider", "dependency-broken",
        "UserWarning: Specified provider 'CUDAExecutionProvider' is not in available provider names.Available providers: "
        "'AzureExecutionProvider, CPUExecutionProvider'",
        "specified provider 'ROCMExecutionProvider' is not in available provider names",
        "Specified provider 'TensorrtExecutionProvider' is not in available provider names.",
    ),
    (
        "cudnn-dll-not-loaded", "windows-dll-missing",
        "Could not load library cudnn_cnn_infer64_8.dll. Error code 193",
        "Could not load library cudnn_graph64_9.dll. Error code 126",
        "Please make sure cudnn_cnn_train64_8.dll is in your library path!",
    ),
    (
        "import-library-missing", "compiler-missing",
        "LINK : fatal error LNK1104: cannot open file 'python311.lib'",
        "LINK : fatal error LNK1181: Eingabedatei \"aio.lib\" kann nicht geöffnet werden.",
        "LINK : fatal error LNK1181: 无法打开输入文件“cufile.lib”",
    ),
    (
        "triton-cannot-compile", "compiler-missing",
        "C:\\Users\\x\\AppData\\Local\\Temp\\tmp1\\main.c:4: error: include file 'Python.h' not found",
        "UserWarning: Failed to find Python libs.",
        "tcc: error: library 'python310' not found",
    ),
    (
        "standard-header-missing", "compiler-missing",
        "/usr/include/x.h:3:10: fatal error: filesystem: No such file or directory",
        "C:\\t\\a.h(3): fatal error C1083: Cannot open include file: 'stddef.h': No such file or directory",
        "a.cpp:1:10: fatal error: 'cstdint' file not found",
        "a.h(1): fatal error C1083: Datei (Include) kann nicht geöffnet werden: \"corecrt.h\": No such file or directory",
    ),
    (
        "triton-not-offered", "compiler-missing",
        "ERROR: No matching distribution found for triton>=2.2.0",
        "ERROR: Could not find a version that satisfies the requirement triton (from versions: none)",
        "ERROR: Could not find a version that satisfies the requirement triton==3.0.0 (from versions: none)",
    ),
    (
        "extension-build-failed", "",
        "RuntimeError: Error building extension 'cpu_adam'",
        "Setting up PyTorch plugin \"filtered_lrelu_plugin\"... Failed!",
        "ModuleNotFoundError: No module named 'nvdiffrast_plugin'",
    ),
    (
        "nvcc-not-found-in-setup", "cuda-toolkit-mismatch",
        "UserWarning: causal_conv1d was requested, but nvcc was not found.  Are you sure your environment has nvcc "
        "available?",
        "op_builder.builder.MissingCUDAException: CUDA_HOME does not exist, unable to compile CUDA op(s)",
        "[WARNING]  transformer cuda is missing or is incompatible with installed torch, only cpu ops can be compiled!",
    ),
    (
        "cmake-without-cuda", "cuda-toolkit-mismatch",
        "CMake Error at CMakeLists.txt:9 (enable_language): No CMAKE_CUDA_COMPILER could be found.",
        "Could NOT find CUDA (missing: CUDA_TOOLKIT_ROOT_DIR CUDA_NVCC_EXECUTABLE)",
        "  Failed to detect a default CUDA architecture.",
    ),
    (
        "toolkit-header-differs", "cuda-toolkit-mismatch",
        "src/x.cu(8): error: namespace \"cub\" has no member \"DeviceReduce\"",
        "error: namespace \"thrust\" has no member \"cuda\"",
        "a.h:2:10: fatal error: 'hipcub/hipcub.hpp' file not found",
    ),
    (
        "build-cannot-import-torch", "build-isolation",
        "AssertionError: torch is required for pre-compiling ops, please install it first.",
        "[WARNING] Unable to import torch, pre-compiling ops will be disabled. Please visit the site of PyTorch",
        "WARNING:  unable to import torch, please install it if you want to pre-compile any deepspeed ops.",
    ),
    (
        "torch-extension-requirements", "build-isolation",
        "$ pip install nvdiffrast\nCollecting nvdiffrast\n  Getting requirements to build wheel ... error\n"
        "  error: subprocess-exited-with-error",
        "Collecting causal-conv1d\n  Getting requirements to build wheel did not run successfully.\n  exit code: 1",
        "Processing ./submodules/simple-knn\n  Getting requirements to build wheel ... error",
    ),
    (
        "numpy-headers-missing", "dependency-broken",
        "pycocotools/_mask.c:547:10: fatal error: numpy/arrayobject.h: No such file or directory",
        "a.c(2): fatal error C1083: Cannot open include file: 'numpy/arrayobject.h': No such file or directory",
        "x.cpp:1:10: fatal error: 'numpy/npy_math.h' file not found",
    ),
    (
        "companion-of-newer-torch", "companion-mismatch",
        "ImportError: cannot import name 'BroadcastingList2'",
        "ImportError: cannot import name 'List' from 'torch.jit.annotations'",
        "ImportError: cannot import name 'Tuple'",
    ),
    (
        "torch-name-not-yet-there", "torch-too-old",
        "ImportError: cannot import name 'inference_mode'",
        "AttributeError: module 'torchvision.models' has no attribute 'detection'",
        "RuntimeError: Attempted to read a PyTorch file with version 10, but the maximum supported version for reading is 9. "
        "Your PyTorch installation may be too old.",
    ),
    (
        "autocast-device-unsupported", "torch-too-old",
        "RuntimeError: User specified an unsupported autocast device_type 'mps'",
        "torch 2.3.1\nRuntimeError: User specified an unsupported autocast device_type 'mps'",
    ),
    (
        "autocast-device-unsupported", "",
        "RuntimeError: User specified an unsupported autocast device_type 'dml'",
        "RuntimeError: User specified an unsupported autocast device_type 'meta'",
    ),
    (
        "stft-without-complex", "torch-too-new",
        "RuntimeError: stft requires the return_complex parameter be given for real inputs, and will further require",
    ),
    (
        "gpu-too-old-for-kernels", "gpu-too-old-for-build",
        "ValueError: The quantization method gptq_marlin is not supported for the current GPU. Minimum capability: 80.",
        "RuntimeError: Found Tesla P100-PCIE-16GB which is too old to be supported by the triton GPU compiler",
        "The quantization method fp8 is not supported for the current GPU. Minimum capability: 89. Current capability: 86.",
    ),
    (
        "model-code-wants-package", "dependency-broken",
        "ImportError: This modeling file requires the following packages that were not found in your environment: einops, "
        "timm. Run `pip install einops timm`",
        "the package flash_attn seems to be not installed. Please refer to the documentation",
        "the package bitsandbytes seems to be not installed.",
    ),
    (
        "metadata-refused", "dependency-broken",
        "WARNING: Ignoring version 0.12.2 of fairseq since it has invalid metadata:",
        "ERROR: Requested pytorch-lightning from file:///x has inconsistent version: expected '1.7.7', but metadata has "
        "'1.7.7.dev0'",
        "ERROR: Requested a from https://host.example/a.whl has different version in metadata: '1.0'",
    ),
    (
        "audio-library-not-found", "shared-library-missing",
        "OSError: PortAudio library not found",
        "OSError: sndfile library not found using ctypes.util.find_library",
        "    raise OSError('PortAudio library not found')",
    ),
    (
        "pillow-name-missing", "dependency-broken",
        "ImportError: cannot import name 'PILLOW_VERSION' from 'PIL' (/v/PIL/__init__.py)",
        "ImportError: cannot import name '_imaging' from 'PIL' (C:\\v\\PIL\\__init__.py)",
        "ImportError: DLL load failed while importing _imaging: The specified module could not be found.",
    ),
    (
        "torch-submodule-emptied", "torch-install-broken",
        "ImportError: cannot import name 'optim' from 'torch.distributed' (unknown location)",
        "ImportError: cannot import name 'functional' from 'torch.nn' (unknown location)",
        "ImportError: cannot import name 'checkpoint' from 'torch.utils' (unknown location)",
    ),
    (
        "compiler-killed", "pip-out-of-resources",
        "g++: internal compiler error: Killed (program cc1plus)",
        "c++: fatal error: Killed signal terminated program cc1plus",
        "x86_64-linux-gnu-gcc: fatal error: Killed signal terminated program cc1",
    ),
)  # fmt: skip


@table("row, cause, text", [(row, cause, text) for row, cause, *texts in SAID for text in texts])
def test_the_row_is_recognised_and_leads_to_its_finding(row: str, cause: str, text: str) -> None:
    facts = read((("ticket.txt", text.encode()),)).facts
    assert row in {error.pattern for error in facts.errors}, [error.pattern for error in facts.errors]
    faults = [f.id for f in judged(facts).account.findings if f.severity == "fault"]
    assert faults[:1] == ([cause] if cause else [])


# words that are near to those above, and mean something else
OTHERS = (
    ("ImportError: cannot import name '_C' from 'torch' (unknown location)", "extension-not-built"),
    ("ImportError: cannot import name '_C' from 'torchvision'", "extension-not-built"),
    ("RuntimeError: nms_impl: implementation for device cpu not found.", "operator-without-device"),
    ("On my MacBook: flash_attn was requested, but nvcc was not found.", "nvcc-not-found-in-setup"),
    (
        "Collecting flash-attn\nGetting requirements to build wheel ... error\nModuleNotFoundError: No module named 'packaging'",
        "torch-extension-requirements",
    ),
    ("a.cpp:1:10: fatal error: optional_lite.hpp: No such file", "standard-header-missing"),
    ("from typing import Optional", "companion-of-newer-torch"),
    ("No matching distribution found for triton-windows", "triton-not-offered"),
    ("As it was not compiled with CUDA support, torch uses the CPU.", "package-without-cuda"),
)  # fmt: skip


@table("text, row", OTHERS)
def test_near_words_are_not_recognised(text: str, row: str) -> None:
    assert row not in {error.pattern for error in read((("ticket.txt", text.encode()),)).facts.errors}


def test_a_killed_compiler_is_told_from_the_installer_whatever_its_name() -> None:
    said = b"gcc-9: fatal error: Killed signal terminated program cc1plus"
    found = next(f for f in judged(read((("ticket.txt", said),)).facts).account.findings if f.severity == "fault")
    assert "compiler" in found.detail
    assert [remedy.details.get("name") for remedy in found.remedies] == ["MAX_JOBS"]
