"""What the name of a column suggests about its role."""

from __future__ import annotations

import re


def word_set(text: str) -> frozenset[str]:
    """Make a set of the words of a text."""
    return frozenset(text.split())


PERSON = word_set(
    "person patient user subject case customer client member beneficiary bene visitor passenger "
    "student employee individual participant respondent citizen tenant insured victim defendant "
    "inmate player donor card mrn pid uid who whom desynpuf persona paciente usuario cliente nutzer "
    "kunde teilnehmer utilisateur"
)
"""Words for somebody."""
KEY = word_set("id ids key no num nr nbr number npi uuid guid ref pseudonym hash identifier")
"""Words for a key."""
_ALONE = word_set("id key uuid guid pseudonym hash identifier")
EVENT = word_set(
    "event visit vid encounter admission hadm stay claim clm order transaction trip tid trajectory "
    "journey tour session activity instance record row line item product provider prvdr physician "
    "physn hospital device store shop sensor message msg invoice segment version at op ot attending"
)
"""Words for what is not somebody: what happens, and where, and with what."""
ORDER = word_set(
    "order seq sequence position pos step index idx visit vid line instance serial turn round wave n t"
)
"""Words for a place in a row of events."""
PERHAPS_ORDER = word_set("rank nr no num number event day week month year hour tid trip trajectory age")
"""Words for what may be one as well."""
TIE = word_set("order seq sequence position pos step index idx line segment instance serial")
"""Words for the place of a row among others of the same time."""
START = (
    "timestamp",
    "start",
    "begin",
    "from",
    "admit",
    "admsn",
    "admission",
    "report",
    "created",
    "occurred",
    "begin",
)
"""Words for when something begins."""
END = (
    "end",
    "stop",
    "disch",
    "dschrg",
    "thru",
    "until",
    "out",
    "close",
    "expir",
    "last",
    "updat",
    "onset",
    "finish",
)
"""Words for when something is over."""
LIFE = ("birth", "born", "dob", "dod", "death", "dead", "deceas")
"""Words for dates of a person, not of an event."""
CODE = word_set(
    "zip zipcode postal postcode plz icd dgns code codes cd drg hcpcs cpt ndc atc naics sic county "
    "fips loinc snomed prcdr beat premise block tract"
)
"""Words for codes whose first characters say most."""
ACTIVITY = word_set(
    "activity page event action symbol item code label category concept state location place station "
    "url product song type region cell site status"
)
"""Words for what happened."""
STAFF = word_set(
    "resource doctor physician nurse surgeon clinician staff officer agent clerk operator teacher driver "
    "caregiver employee worker handler inspector technician responsible"
)
"""Words for those who do something: people, too."""
TRIP = word_set("trip tid trajectory traj journey tour ride")
"""Words for a journey of somebody."""
_AREA = word_set("state states county counties province canton country")
_VISIBLE = word_set(
    "age birth born dob birthyr birthdate birthday sex gender zip zipcode postal postcode plz city town "
    "county state country region district race ethnicity ethnic nationality language marital married "
    "education occupation job profession employer religion"
)
_SEEN = word_set(
    "ward department unit hospital clinic site station location place admission discharge type insurance "
    "payer specialty org group year month date day stay los activity event offense premise beat category"
)
_COUNTED = word_set("num number n nr no count total amount time days hours cost costs")
_SENSITIVE = tuple(
    word_set(
        "diagnos diag dgns dx disease illness icd condition symptom disorder drug medicat medicine prescri "
        "treat therap procedur prcdr surg outcome hiv pregnan abort addict psych mental disab genetic "
        "deceased allerg cancer tumor tumour infect vaccin "
        "salary income wage debt credit loan balance bankrupt insolv tax benefit "
        "offens offenc crime criminal arrest convict sentence charge victim penalty "
        "religio sexual orient politic union complaint"
    )
)

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BOUNDARY = re.compile(r"[\W_]+|(?<=\D)(?=\d)|(?<=\d)(?=\D)")


def words(name: str) -> tuple[str, ...]:
    """Cut the name of a column into its words.

    Examples
    --------
    >>> words("ICD9_DGNS_CD_1"), words("ActivityDate"), words("Case no."), words("userid")
    (('icd', '9', 'dgns', 'cd', '1'), ('activity', 'date'), ('case', 'no'), ('user', 'id'))
    """
    found: list[str] = []
    for word in _BOUNDARY.split(_CAMEL.sub(" ", name)):
        lower = word.casefold()
        if lower.endswith("id") and lower[:-2] in PERSON:
            found += [lower[:-2], "id"]
        elif lower:
            found.append(lower)
    return tuple(found)


def names_person(name: str) -> int:
    """Return how likely a column is the person by its name: 3 is very, 0 not at all.

    Examples
    --------
    >>> [names_person(name) for name in ("case_id", "case:concept:name", "Id", "xyz_id", "CLM_ID", "number")]
    [3, 3, 2, 1, 0, 0]
    """
    found = words(name)
    core = {*found} - KEY - {"name", "concept", "code"}
    if core and core <= PERSON:
        return 3
    if core & EVENT:
        return 0
    if not core:
        return 2 if {*found} & _ALONE else 0
    return 1 if found[-1] in KEY else 0


def names_key(name: str) -> bool:
    """Return whether a column is named like the key of something.

    Examples
    --------
    >>> [names_key(name) for name in ("hadm_id", "AT_PHYSN_NPI", "trajectory", "idhous", "Age")]
    [True, True, True, True, False]
    """
    found = words(name)
    return bool(found) and (
        found[-1] in KEY
        or found[-1] in TRIP
        or (found[0].startswith("id") and not found[0].startswith(("idle", "idea")))
    )


def names_order(name: str) -> int:
    """Return how likely a column orders events by its name: 2 is very, 0 not at all.

    Examples
    --------
    >>> names_order("seq_num"), names_order("day"), names_order("ward")
    (2, 1, 0)
    """
    found = {*words(name)}
    if found & ORDER or found in ({"n"}, {"t"}):
        return 2
    return 1 if found & PERHAPS_ORDER else 0


def names_code(name: str) -> bool:
    """Return whether a column is named like a code whose first characters say most."""
    return any(word in CODE or word.endswith("code") for word in words(name))


def names_activity(name: str) -> bool:
    """Return whether a column is named like what happened."""
    return bool({*words(name)} & ACTIVITY)


def names_sensitive(name: str) -> bool:
    """Return whether a column is named like something that people keep to themselves.

    Examples
    --------
    >>> [names_sensitive(name) for name in ("Disease", "ICD9_DGNS_CD_1", "DiagnosticBlood", "num_procedures")]
    [True, True, False, False]
    """
    found = words(name)
    if found and found[0] in _COUNTED:
        return False
    return any(
        word.startswith(stem) and not word.startswith(("diagnostic", "taxi"))
        for word in found
        for stem in _SENSITIVE
    )


def names_area(name: str) -> bool:
    """Return whether a column is named like states or counties, whose codes have no order of their own."""
    return bool({*words(name)} & _AREA)


def names_coded(name: str) -> bool:
    """Return whether a column of numbers is named like a category: by a key or a code at the end."""
    found = words(name)
    is_classified = {*found} & CODE - {"code", "codes", "cd"}
    return (
        bool(found) and not is_classified and found[-1] in {"id", "code", "cd", "type", "class", "category"}
    )


def rate_knowledge(name: str) -> int:
    """Return how likely an outsider knows what a column of this name says: 3 is seen by all, 0 by nobody.

    Examples
    --------
    >>> rate_knowledge("BirthYear"), rate_knowledge("ward"), rate_knowledge("leucocytes")
    (3, 2, 0)
    """
    found = {*words(name)}
    return 3 if found & _VISIBLE else 2 if found & _SEEN else 0


def names_one_of(name: str, stems: tuple[str, ...]) -> bool:
    """Return whether a word of the name begins with one of the stems, or ends with it."""
    return any(word.startswith(stems) or (len(word) > 4 and word.endswith(stems)) for word in words(name))
