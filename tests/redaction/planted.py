"""What is planted to see whether it leaks: kinds of secrets and identities, each with the lines in which people paste them.

In a line `{}` is what must not be found in any output; what stands beside it may. The values are made up from a seed.
"""

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
URL64 = ALNUM + "-_"

Make = Callable[[random.Random], str]


@dataclass(frozen=True)
class Planted:
    """One line with something in it that must not leave."""

    kind: str
    line: str
    value: str


def chars(alphabet: str, count: int, prefix: str = "", suffix: str = "") -> Make:
    """`count` characters after a prefix; never ending in a mark, which a reader would take for the sentence's."""

    def make(r: random.Random) -> str:
        return prefix + "".join(r.choice(alphabet) for _ in range(count - 1)) + r.choice(HEX) + suffix

    return make


def password(r: random.Random) -> str:
    return "".join(r.choice(["Tr0ub4", "x9", "Qw", "zeb", "7!", "-k", "Lm3", "vv"]) for _ in range(4)) + str(r.randint(10, 99))


def marked_password(r: random.Random) -> str:
    return f"p{r.randint(10, 99)}@ss/w'{r.randint(100, 999)}rd"


def jwt(r: random.Random) -> str:
    def part(text: str) -> str:
        return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")

    return ".".join((part('{"alg":"HS256","typ":"JWT"}'), part(f'{{"sub":"{r.randint(10**9, 10**10)}"}}'), chars(URL64, 43)(r)))


def user(r: random.Random) -> str:
    return r.choice(("akowalski", "hschmidt", "mfujita", "tgarcia7", "j.oneill", "pveldkamp", "zhaoqing")) + str(r.randint(2, 98))


def host(r: random.Random) -> str:
    return r.choice(("tqbox", "orion-r", "hgxlab", "w7stn", "kestrel", "dgx-mueller")) + str(r.randint(2, 98))


def ipv4(r: random.Random) -> str:
    return r.choice(("10.{}.{}.{}", "192.168.{}.{}", "172.20.{}.{}", "131.{}.{}.{}")).format(*(r.randint(17, 250) for _ in range(4)))


def ipv6(r: random.Random) -> str:
    return r.choice(("fe80", "2001:db8", "fd12:3456")) + "::" + ":".join("".join(r.choice(HEX) for _ in range(4)) for _ in range(3))


def mac(r: random.Random) -> str:
    return ":".join(f"{r.randint(0, 255):02x}" for _ in range(6))


def guid(r: random.Random) -> str:
    return str(uuid.UUID(int=r.getrandbits(128)))


NAMED = (
    "export {k}={}", "{k}={}", "{k} = {}", '{k}="{}"', "{k} = '{}'", '"{k}": "{}"', "$env:{k} = '{}'", "setx {k} {}", 'setx {k} "{}"',
    "ENV {k} {}", "ARG {k}={}", "set -gx {k} {}", "setenv {k} {}", "set {k}={}", "docker run -e {k}={} img", "os.environ['{k}'] = '{}'",
    'os.environ["{k}"]="{}"', "{k}: {}", "- name: {k} value: {}", '{{"name": "{k}", "value": "{}"}}', "-D{k}={}", "{k}:={}", "`{k}={}`",
    '\\"{k}\\": \\"{}\\"', "declare -x {k}=\"{}\"", "{k}={} python train.py", "env: {k}={},OTHER=1",
)  # fmt: skip
BARE = ("{}", "using {} here", "error: invalid key {}.", "('{}',)", "token={}", "got `{}`", "x;{};y", "<{}>", "login {}")
IN_PATH = ("/home/{}/ml/train.py", "/home2/{}/x", "/nfs/home/{}/env", "/scratch/{}/venv/lib", "/Users/{}/Library", "C:\\Users\\{}\\torch", "c:\\\\Users\\\\{}\\\\x",
           "/mnt/c/Users/{}/x", "/gpfs/users/{}/y", "/data/home/{}/z", "/homes/{}/q", "/lustre/home/{}/a", "/export/home/{}", "file:///home/{}/x",
           "\\\\wsl$\\Ubuntu\\home\\{}\\p", "/c/Users/{}/x", "/var/home/{}/x", "/ceph/users/{}/b", "~{}/x", "/run/media/{}/disk")  # fmt: skip

KINDS: dict[str, tuple[Make, tuple[str, ...]]] = {
    # keys by their form, bare
    "aws key id": (chars(UPPER, 16, "AKIA"), BARE),
    "google api key": (chars(URL64, 35, "AIza"), BARE),
    "google oauth": (chars(URL64, 60, "ya29."), BARE),
    "github token": (chars(ALNUM, 36, "ghp_"), BARE),
    "github fine-grained": (chars(ALNUM, 59, "github_pat_11ABCDEFG0_"), BARE),
    "gitlab token": (chars(URL64, 20, "glpat-"), BARE),
    "hugging face": (chars(string.ascii_letters, 34, "hf_"), BARE),
    "package index token": (chars(URL64, 80, "pypi-AgEIcHlwaS5vcmc"), BARE),
    "npm token": (chars(ALNUM, 36, "npm_"), BARE),
    "slack bot": (lambda r: f"xoxb-{r.randint(10**11, 10**12)}-{r.randint(10**11, 10**12)}-{chars(ALNUM, 24)(r)}", BARE),
    "slack refresh": (chars(ALNUM, 100, "xoxe.xoxp-1-"), BARE),
    "stripe": (chars(ALNUM, 24, "sk_live_"), BARE),
    "openai": (chars(ALNUM, 48, "sk-"), BARE),
    "openai project": (chars(URL64, 100, "sk-proj-"), BARE),
    "anthropic": (chars(URL64, 90, "sk-ant-api03-"), BARE),
    "nvidia api": (chars(URL64, 64, "nvapi-"), BARE),
    "vault": (chars(ALNUM, 90, "hvs.CAES"), BARE),
    "jwt": (jwt, BARE),
    "groq": (chars(ALNUM, 52, "gsk_"), BARE),
    "replicate": (chars(ALNUM, 37, "r8_"), BARE),
    "docker hub": (chars(URL64, 27, "dckr_pat_"), BARE),
    "digitalocean": (chars(HEX, 64, "dop_v1_"), BARE),
    "databricks": (chars(HEX, 32, "dapi"), BARE),
    "sendgrid": (lambda r: f"SG.{chars(URL64, 22)(r)}.{chars(URL64, 43)(r)}", BARE),
    "telegram": (lambda r: f"{r.randint(10**8, 10**9)}:AA{chars(URL64, 33)(r)}", BARE),
    "discord": (lambda r: f"M{chars(ALNUM, 23)(r)}.{chars(ALNUM, 6)(r)}.{chars(URL64, 38)(r)}", BARE),
    "twilio": (chars(HEX, 32, "SK"), BARE),
    "grafana": (chars(ALNUM, 41, "glsa_"), BARE),
    "tailscale": (lambda r: f"tskey-auth-{chars(ALNUM, 12)(r)}-{chars(ALNUM, 32)(r)}", BARE),
    "atlassian": (chars(URL64, 180, "ATATT3xFfGF0"), BARE),
    "alibaba": (chars(ALNUM, 20, "LTAI5t"), BARE),
    "random base62": (chars(ALNUM, 40), ("value {}", "key: {}", "using {} here", "{}")),
    "random hex": (chars(HEX, 40), ("wandb login {}", "key {}", "api {} used", "wandb: paste {}")),
    "base64 secret": (lambda r: base64.b64encode(r.randbytes(30)).decode(), ("{}", "secret {}", "key={}")),
    # by name, in every spelling
    "password": (password, tuple(n.replace("{k}", k) for k in ("DB_PASSWORD", "password", "PGPASSWORD", "mysql_passwd") for n in NAMED)),
    "api key": (chars(ALNUM, 20), tuple(n.replace("{k}", k) for k in ("OPENAI_API_KEY", "api_key", "apiKey", "WANDB_API_KEY") for n in NAMED)),
    "token variable": (chars(HEX, 20), tuple(n.replace("{k}", k) for k in ("HF_TOKEN", "CI_JOB_TOKEN", "access_token") for n in NAMED)),
    "secret key": (chars(ALNUM + "/+", 40), tuple(n.replace("{k}", k) for k in ("AWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "client_secret") for n in NAMED)),
    "flag": (password, ("--token {}", "--password={}", "--api-key {}", "--hf-token '{}'", "--access-token={}", "curl --oauth2-bearer {} x", "sshpass -p {} ssh x",
                        "docker login -u me -p {}", "mysql -u root -p{}", "huggingface-cli login --token {}", "('--token', '{}')", "['--api-key', '{}']")),
    "user:password flag": (password, ("curl -u me:{} https://example.com", "curl --user bob:{} x", "wget --user=x --password={} y", "curl --proxy-user a:{} z")),
    "password loosely": (password, ("password {}", "Password for 'https://bob@github.com': {}", "Password (again): {}", "| password | {} |", "password -> {}",
                                    "password → {}", '"password","{}"', "password,{}", "password ({})", "Passwort: {}", "contraseña: {}", "пароль: {}", "密码: {}",
                                    "LDAP_BIND_PW={}", "DBPASS={}", 'os.environ.setdefault("DB_PASSWORD","{}")')),
    "password encoded": (password, ("x=1&password%3D{}", "%22password%22%3A%22{}%22", "next=https%253A%252F%252Fx%253Fpassword%253D{}", "password&#61;{}",
                                    "&quot;password&quot;:&quot;{}&quot;", "\\u0022password\\u0022:\\u0022{}\\u0022", "pass\u200bword={}", "ｐａｓｓｗｏｒｄ={}")),
    "proxy without a scheme": (password, ("HTTPS_PROXY=bob:{}@proxy.example.net:8080", "proxy = bob:{}@192.0.2.9:3128")),
    "netrc": (password, ("machine github.com login bob password {}", "machine api.wandb.ai login user password {}")),
    "authorization": (chars(URL64, 30), ("Authorization: Bearer {}", "authorization: token {}", "-H 'Authorization: Bearer {}'", '"Authorization": "Bearer {}"',
                                         "Authorization: Basic {}", "Proxy-Authorization: Basic {}", "X-Api-Key: {}", "PRIVATE-TOKEN: {}", "x-auth-token: {}")),
    "cookie": (chars(ALNUM, 26), ("Cookie: session={}", "Set-Cookie: sid={}; Path=/", "cookie: a=1; b={}", "-H 'Cookie: _xsrf={}'", '"Cookie": "x={}"')),
    "address with password": (password, ("https://bob:{}@host.example/simple", "postgres://app:{}@db:5432/x", "--index-url https://u:{}@nexus.corp/simple", "http_proxy=http://me:{}@proxy:3128",
                                         "git clone https://x:{}@github.com/a/b", "mongodb+srv://u:{}@c0.mongodb.net", "redis://:{}@localhost:6379/0", "amqp://a:{}@mq")),
    "password with marks": (marked_password, ("https://bob:{}@host.example/simple", "postgres://app:{}@db:5432/x", "password: {}", 'password = "{}"', "PIP_INDEX_URL=https://u:{}@nexus.corp/simple")),
    "address with token": (chars(ALNUM, 24), ("https://{}@git.corp.example/x.git", "https://oauth2:{}@gitlab.com/x", "git+https://{}@github.com/a/b", "https://{}:x-oauth-basic@github.com/a/b")),
    "conda token": (chars(URL64, 39), ("https://conda.anaconda.org/t/{}/chan", "- https://conda.corp.example/t/{}/main/linux-64", "https://repo.example/t/{}/simple")),
    "signed address": (chars(HEX, 64), ("https://b.s3.amazonaws.com/w?X-Amz-Signature={}", "https://x.blob.core.windows.net/c?sv=2022&sig={}", "https://storage.googleapis.com/b/o?X-Goog-Signature={}&x=1",
                                        "https://cdn.example/f?token={}", "https://d.cloudfront.net/a?Signature={}&Key-Pair-Id=K1")),
    "hook": (chars(ALNUM, 24), ("https://hooks.slack.com/services/T0ABCDEF1/B0ABCDEF2/{}", "https://discord.com/api/webhooks/123456789012345678/{}", "https://api.telegram.org/bot123456789:AA{}/send")),
    "connection string": (chars(ALNUM + "+/", 60, suffix="=="), ("DefaultEndpointsProtocol=https;AccountName=x;AccountKey={};EndpointSuffix=core.windows.net", "Endpoint=sb://x/;SharedAccessKey={}", "AccountKey={}")),
    "private key": (chars(ALNUM + "+/", 60), ("-----BEGIN RSA PRIVATE KEY----- {} -----END RSA PRIVATE KEY-----", "-----BEGIN OPENSSH PRIVATE KEY----- {}", "key: -----BEGIN PRIVATE KEY-----\\n{}")),
    "password in words": (password, ("my password is {}", "the token was {}", "password for bob: {}", "Passwort/password: {}", "<password>{}</password>", "sudo password = {}", "IDENTIFIED BY PASSWORD '{}'")),
    # who and where
    "user in a path": (user, IN_PATH),
    "user by name": (user, ("USER={}", "USERNAME={}", "LOGNAME={}", "user: {}", "uid=1000({}) gid=1000", "drwxr-xr-x 2 {} users 4096 Jan 1 12:00 x", "sudo -u {} python", "ssh {}@gpu.example.org",
                            "{}@somebox:~/ml$ python", "session opened for user {}", "SUDO_USER={}", "chown {} /data", "{}  3311  99.0  1.2 123 456 ? R 10:00 0:01 python", "logged in as {}")),
    "user in another case": (user, ("/home/{0}/x and again {1} here", "C:\\Users\\{0}\\a C:\\USERS\\{1}\\b", "/Users/{0}/q {1}")),
    "host": (host, ("bob@{}:~$ nvidia-smi", "[bob@{} ml]$ python", "Linux {} 5.15.0-91-generic #101-Ubuntu SMP x86_64", "Darwin {} 23.5.0 Darwin Kernel", "Jan 12 10:11:12 {} kernel: NVRM: Xid",
                    "2024-01-12T10:11:12.123456+00:00 {} kernel: NVRM: x", "HOSTNAME={}", "hostname: {}", "{}:1234:5678 [0] NCCL INFO Bootstrap", "MASTER_ADDR={}", "--master_addr {}", "ssh {}", "srun: error: {}: task 0: Exited",
                    "http://{}:8080/x", "Static hostname: {}", "Failed to connect to {} port 443", "COMPUTERNAME={}", "\\\\{}\\share\\x", "tcp://{}:29500", "failed to connect to [{}]:29500", "root@{}:/workspace# ls",
                    "SLURMD_NODENAME={}", "ping {}", "Node: {}", "(base) bob@{}:~/x$ ls")),
    "host with domain": (lambda r: host(r) + r.choice((".corp.example", ".lab.local", ".cs.uni-demo.edu", ".internal", ".acme-demo.com")), ("https://{}/simple", "bob@{}:~$ x", "on {}", "HOSTNAME={}", "Looking in indexes: https://{}/x", "resolve {} failed", "host {}", "{}:29500")),
    "windows host": (lambda r: "DESKTOP-" + chars(UPPER, 7)(r).upper(), ("{}", "on {}", "PS {}>", "COMPUTERNAME={}")),
    "mac host": (lambda r: f"{r.choice(('Annikas', 'Bjorns', 'Chiyos'))}-MacBook-Pro.local", ("{}", "bob@{} ~ %", "Darwin {} 23.5.0")),
    "ipv4": (ipv4, ("inet {}/24", "connect to {}", "MASTER_ADDR={}", "http://{}:8080", "{}:29500", "SSH_CONNECTION={} 51234 x 22", "from {} port 22", "host {}", "[{}]", "(client {})")),
    "ipv6": (ipv6, ("inet6 {}/64", "[{}]:29500", "connect to {}", "addr {}")),
    "mac address": (mac, ("link/ether {} brd", "HWaddr {}", "eth0 {}", "({})")),
    "e-mail": (lambda r: user(r) + "@" + host(r) + ".example.com", ("{}", "Author: X <{}>", "mail {} now", "user.email={}", "mailto:{}")),
    "gpu uuid": (lambda r: "GPU-" + guid(r), ("GPU 0: NVIDIA A100 (UUID: {})", "{}", "CUDA_VISIBLE_DEVICES={}", "GPU UUID : {}")),
    "mig uuid": (lambda r: "MIG-" + guid(r), ("(UUID: {})", "CUDA_VISIBLE_DEVICES={}")),
    "uuid": (guid, ("{}", "uuid={}", "Hardware UUID: {}", "UUID=\"{}\" /boot ext4", "id {}")),
    "serial": (lambda r: str(r.randint(10**12, 10**13)), ("Serial Number : {}", "serial: {}", "Serial Number (system): {}", "S/N {x}: {}".replace(" {x}", ""), "ID_SERIAL={}", "Board Serial = {}")),
    "mac serial": (chars(UPPER, 10, "C02"), ("Serial Number (system): {}", "Serial Number: {}", "serial={}")),
    "machine id": (chars(HEX, 32), ("machine-id: {}", "Machine ID: {}", "Boot ID: {}", "machine_id={}")),
    "aws account": (lambda r: str(r.randint(10**11, 10**12 - 1)), ("arn:aws:iam::{}:role/x", "{}.dkr.ecr.us-east-1.amazonaws.com/x", "account id: {}", "arn:aws:s3:us-east-1:{}:y")),
    "instance id": (chars(HEX, 17, "i-"), ("{}", "instance {}", "on {}.")),
    "bucket": (lambda r: f"{host(r)}-ckpts", ("s3://{}/x", "gs://{}/y/z", "https://{}.s3.amazonaws.com/x", "https://{}.blob.core.windows.net/x")),
    "cloud project": (lambda r: f"{host(r)}-{r.randint(100, 999)}", ("projects/{}/locations", "--project={}", "GOOGLE_CLOUD_PROJECT={}")),
    "container id": (chars(HEX, 64), ("0::/docker/{}", "/var/lib/docker/containers/{}/x", "container {}")),
}  # fmt: skip


def planted(seed: int = 0, each: int = 0) -> Iterator[Planted]:
    """Every kind in all its lines, or in `each` of them."""
    r = random.Random(seed)
    for kind, (make, lines) in KINDS.items():
        chosen = lines if not each or each >= len(lines) else r.sample(lines, each)
        for line in chosen:
            value = make(r)
            if "{1}" in line:
                yield Planted(kind, line.replace("{0}", value).replace("{1}", value.upper()), value)
            else:
                yield Planted(kind, line.replace("{}", value).replace("{{", "{").replace("}}", "}"), value)


def pasted() -> Iterator[Planted]:
    """The lines of pasted.txt."""
    for line in Path(__file__).with_name("pasted.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("# "):
            value = line.partition("|")[2].split(" ")[0]
            yield Planted("pasted", line.replace("|", "", 1), re.split(r"[@/\"'!=\\(\[]", value)[0].rstrip(",;)%"))


def spelled() -> Iterator[Planted]:
    """The lines of spellings.txt, one for each secret of a line."""
    for line in Path(__file__).with_name("spellings.txt").read_text(encoding="utf-8").splitlines():
        for value in re.findall("«(.*?)»", line):
            yield Planted("spelled", re.sub("[«»]", "", line), value)


# Nothing here may be changed.
INNOCENT = tuple(
    line
    for line in """
python:3.12-slim@sha256:abc, torch:2.6.0@cuda, progress 100%25 of torch%3D%3D2.6.0 &quot;cuda&quot; &#61; 12.4
the password prompt was shown, then password2.py failed; secrets: none; see password.md, or password authentication v2
docker run --rm -v $(pwd):/$(pwd) -w $(pwd) -it image
bypass1, compass = 5, key -> value, token, 3 tokens | secret | none |
nvidia-cublas-cu12==12.4.5.8
nvidia-cublas-cu12 12.4.5.8
nvidia-cudnn-cu12 9.1.0.70
nvidia-curand-cu12 10.3.5.147
nvidia-cusparse-cu12            12.3.1.170
nvidia-cufft-cu12==11.2.1.3
[pip3] nvidia-cusolver-cu12==11.6.1.9
[conda] libcurand 10.3.5.147 0 nvidia
cuda-cudart 12.4.127 0 nvidia
pip 24.0 from /usr/lib/python3/dist-packages/pip (python 3.12)
NVIDIA GeForce RTX 4090
NVIDIA A100-SXM4-80GB
NVIDIA-SMI 550.54.14 Driver Version: 550.54.14 CUDA Version: 12.4
AMD Radeon RX 7900 XTX
Intel(R) Xeon(R) Platinum 8480+
Apple M3 Max
Python version: 3.12.4 (main, Jun 7 2024, 00:00:00) [GCC 13.2.0] (64-bit runtime)
Python platform: Linux-5.15.0-91-generic-x86_64-with-glibc2.35
PyTorch version: 2.6.0+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A
OS: Ubuntu 22.04.4 LTS (x86_64)
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Libc version: glibc-2.35
cuDNN version: Probably one of the following:
/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0
/usr/local/cuda-12.4/lib64/libcublas.so.12.4.5.8
/proc/driver/nvidia/version
/opt/conda/lib/python3.12/site-packages/torch/lib/libtorch_cuda.so
/usr/local/lib/python3.12/dist-packages/numpy/__init__.py
0000:01:00.0 VGA compatible controller [0300]: NVIDIA Corporation AD102 [GeForce RTX 4090] [10de:2684] (rev a1)
01:00.0 3D controller
00000000:65:00.0 Off
12:34:56
2024-05-31T10:20:30Z
127.0.0.1:29500
localhost:8888
0.0.0.0
::1
http://127.0.0.1:8080/x
https://download.pytorch.org/whl/cu124
--index-url https://download.pytorch.org/whl/cu118
https://pytorch.org/get-started/locally/
https://github.com/pytorch/pytorch/issues/12345
https://docs.nvidia.com/deploy/cuda-compatibility/
https://developer.nvidia.com/cuda-gpus
git clone https://github.com/pytorch/vision.git
git+https://github.com/huggingface/transformers@v4.40.0
git+ssh://git@github.com/a/b.git
git@github.com:pytorch/pytorch.git
https://huggingface.co/meta-llama/Llama-3
torch-2.6.0+cu124-cp312-cp312-manylinux_2_28_x86_64.whl
nvidia_cublas_cu12-12.4.5.8-py3-none-manylinux2014_x86_64.whl
pytorch-2.4.0-py3.12_cuda12.4_cudnn9.1.0_0
py3.12_cuda12.4_cudnn9.1.0_0
numpy 1.26.4 py312hc5e2394_0
undefined symbol: _ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE
undefined symbol: _ZN5torch3jit17parseSchemaOrNameERKNSt7__cxx1112basic_string
undefined symbol: __nvJitLinkAddData_12_1, version libnvJitLink.so.12
version `GLIBCXX_3.4.30' not found
/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.32' not found
at::native::(anonymous namespace)::vectorized_elementwise_kernel
c10::Error: CUDA error
RuntimeError: CUDA error: no kernel image is available for execution on the device
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 23.65 GiB
CUDNN_STATUS_NOT_INITIALIZED
CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`
AssertionError: Torch not compiled with CUDA enabled
ImportError: libcudnn.so.9: cannot open shared object file: No such file or directory
OSError: [WinError 126] The specified module could not be found. Error loading "C:\\Python312\\Lib\\site-packages\\torch\\lib\\fbgemm.dll"
ModuleNotFoundError: No module named 'torch'
ERROR: Could not find a version that satisfies the requirement torch (from versions: none)
ERROR: No matching distribution found for torch==1.7.1
RuntimeError: Numpy is not available
Segmentation fault (core dumped)
PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128
CUDA_VISIBLE_DEVICES=0,1,2
CUDA_HOME=/usr/local/cuda-12.4
LD_LIBRARY_PATH=/usr/local/cuda/lib64:/usr/lib/wsl/lib
HSA_OVERRIDE_GFX_VERSION=10.3.0
OMP_NUM_THREADS=8
TORCH_CUDA_ARCH_LIST=8.0;8.6;9.0+PTX
NCCL_DEBUG=INFO
MASTER_PORT=29500
WORLD_SIZE=8
max_new_tokens=512
max_tokens: 1024
num_tokens = 32000
pad_token=<pad>
eos_token_id: 2
pad_token_id = 0
tokenizers==0.15.0
tokenizer.model_max_length
token_type_ids
SyntaxError: unexpected token: newline
KeyError: 'encoder.layers.0.weight'
Unexpected key(s) in state_dict: "module.conv1.weight"
Missing key(s) in state_dict: "fc.bias"
key_padding_mask=None
key_value_states
past_key_values
num_key_value_heads: 8
dict_keys(['a', 'b'])
sort_keys=True
HF_TOKEN is not set
HF_TOKEN not set
password: 
--token TOKEN
--token <token>
token=None
use_auth_token=True
use_auth_token=None
api_key=None
api_key=os.environ["OPENAI_API_KEY"]
password=getpass.getpass()
secret=${SECRET}
TOKEN=$HF_TOKEN
signature mismatch
sig_atomic_t
Signal 11 (SIGSEGV)
bearer of bad news
session = requests.Session()
tf.Session()
author: the PyTorch team
The user is root
user: root
user site is enabled
sys.version_info
torch.version.git_version
commit 5c3d5d3f1a2b4c6d8e9f0a1b2c3d4e5f6a7b8c9d
git revision 5c3d5d3f1a2b4c6d8e9f0a1b2c3d4e5f6a7b8c9d
sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
--hash=sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
torch @ https://download.pytorch.org/whl/cpu/torch-2.6.0.whl#sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
md5 d41d8cd98f00b204e9800998ecf8427e
0x00007f3b2c1d4e5f
_XpuDeviceProperties(name='Intel(R) Arc(TM) B580 Graphics', device_id=0xE20B, total_memory=12216MB)
device id: 0x56a0, Device ID = 0x7d55
0x7fffdeadbeef
sm_86 compute_90 gfx1100 gfx90a
8.9
arch_list ['sm_50', 'sm_60', 'sm_70', 'sm_75', 'sm_80', 'sm_86', 'sm_90']
flags: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr avx avx2 fma avx512f
Thu May 30 10:20:30 2024
+-----------------------------------------------------------------------------+
| NVIDIA-SMI 525.60.13    Driver Version: 525.60.13    CUDA Version: 12.0     |
|   0  NVIDIA GeForce ...  Off  | 00000000:01:00.0 Off |                  N/A |
|  0%   35C    P8    20W / 450W |      1MiB / 24564MiB |      0%      Default |
[pip3] numpy==1.26.4
[pip3] torchvision==0.21.0+cu124
[conda] blas 1.0 mkl
[conda] pytorch 2.4.0 py3.12_cuda12.4_cudnn9.1.0_0 pytorch
[conda] pytorch-cuda 12.4 hc786d27_6 pytorch
Driver: 31.0.15.4601
torch.cuda.is_available() False
>>> import torch
>>> torch.cuda.is_available()
python -c "import torch; print(torch.__version__)"
pip install torch --index-url https://download.pytorch.org/whl/cu124
conda install pytorch -c pytorch -c nvidia
sudo apt install nvidia-driver-550
sudo ubuntu-drivers install nvidia:580
docker run --gpus all -it nvidia/cuda:12.4.1-base-ubuntu22.04
docker run --rm -u 1000:1000 pytorch/pytorch:2.4.0-cuda12.4-cudnn9-runtime
docker run -p 8888:8888 jupyter
ssh -p 22 localhost
root@localhost:/workspace#
/home/runner/work
/home/ubuntu/ml
/home/user/ml
/root/.cache/torch
/home/jovyan/work
/Users/runner/x
C:\\Users\\runneradmin\\x
C:\\Program Files\\NVIDIA GPU Computing Toolkit\\CUDA\\v12.4\\bin
/content/drive/MyDrive
/kaggle/working
/tmp/pip-install-abc/torch
/scratch/envs/torch
/data/models/llama
/mnt/data/datasets
/workspace/project
ManagerName
CudaDriverVersionMismatch
cudaErrorNoKernelImageForDevice
NotImplementedError: The operator 'aten::_linalg_solve_ex.result' is not currently implemented for the MPS device
TORCH_USE_CUDA_DSA
MTLCompilerService
manylinux_2_17_x86_64.manylinux2014_x86_64
macosx-11.0-arm64
win-amd64
libstdc++.so.6.0.30
WARNING: You are using pip version 21.2.4; however, version 24.0 is available.
UserWarning: NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.
hf_transfer-0.1.9-cp38-abi3-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
huggingface-hub 0.23.4
xformers 0.0.26.post1
bitsandbytes==0.43.1
flash-attn 2.5.8
triton==3.0.0
mpi4py 3.1.6
pass: 12 fail: 0
passed 12 tests
Passing a tensor
mode=0o755
100%|##########| 10/10 [00:01<00:00, 9.8it/s]
Epoch 3/10 loss=0.1234
Fri, 31 May 2024 10:20:30 GMT
torchvision.ops.nms
AttributeError: module 'torch' has no attribute 'compile'
self.model.layers.0.attn
model.embed_tokens.weight
NVRM: Xid (PCI:0000:01:00): 79, pid=1234, GPU has fallen off the bus.
NVRM: API mismatch: the client has the version 535.104.05
kernel: 5.15.0-91-generic
HIP version: 6.0.32831-204d35d12
MIOpen runtime version: 3.0.0
XNNPACK available: True
CPU(s): 32
Stepping: 4
BogoMIPS: 5800.00
L1d cache: 768 KiB (16 instances)
NUMA node0 CPU(s): 0-15
Vulnerability Spectre v2: Mitigation; Retpolines
Virtualization: VT-x
model name : AMD EPYC 7763 64-Core Processor
TF32 v1.2.3.4
cudnn 8.9.2.26
CUDA Toolkit 11.8.89.1
version 9.5.0.5
libcudart.so.12
""".strip("\n").splitlines()
)  # fmt: skip

# People who are called like this exist; nothing but their home folder may change.
USERS = ("pip", "numpy", "GeForce", "RTX", "the", "version", "install", "cuda", "torch", "nvidia-smi", "conda", "python", "gpu", "driver", "linux", "import", "error", "RuntimeError", "cu124", "mps", "apple", "intel", "amd", "ubuntu", "cpu", "root", "lib", "site-packages", "bin", "venv", "home", "build", "whl", "index", "url", "file", "memory", "device", "kernel", "module", "not", "found", "is", "on", "a", "of", "to", "in", "no", "none", "true", "false", "null", "healthy", "faulty", "unknown", "fault", "note", "warning", "json", "text")
