from ._pydata.images.encoded import Encoded as Encoded
from ._pydata.seeding import rng as rng
from .array import Array as Array
from .errors import BadSampleWarning as BadSampleWarning
from .errors import DataLoss as DataLoss
from .errors import DeadlineExceeded as DeadlineExceeded
from .errors import Error as Error
from .errors import FailedPrecondition as FailedPrecondition
from .errors import Internal as Internal
from .errors import InvalidArgument as InvalidArgument
from .errors import NotFound as NotFound
from .errors import PermissionDenied as PermissionDenied
from .errors import ResourceExhausted as ResourceExhausted
from .errors import Unavailable as Unavailable
from .fields import Field as Field
from .loader import Loader as Loader
from .sampling import ShuffleWindow as ShuffleWindow
from .sampling import WeightedSampler as WeightedSampler
from .transforms import CenterCrop as CenterCrop
from .transforms import ExifTranspose as ExifTranspose
from .transforms import Grayscale as Grayscale
from .transforms import HorizontalFlip as HorizontalFlip
from .transforms import Normalize as Normalize
from .transforms import Python as Python
from .transforms import RandomResizedCrop as RandomResizedCrop
from .transforms import Resize as Resize

__version__: str
