"""Suggestions of names."""

from cockpit.suggestions import closest_names, did_you_mean

KNOWN = ("review", "reviewer", "explore")


def test_the_most_similar_name_comes_first() -> None:
    assert closest_names("reviewr", KNOWN) == ["reviewer"]
    assert closest_names("reviewr", KNOWN, limit=3) == ["reviewer", "review"]


def test_a_name_below_the_cutoff_is_not_suggested() -> None:
    assert closest_names("expose", KNOWN, cutoff=0.9) == []


def test_the_question_lists_the_names_or_gives_other_advice() -> None:
    assert did_you_mean(["a", "b"], "see the list") == "did you mean a or b?"
    assert did_you_mean([], "see the list") == "see the list"
    assert did_you_mean([]) == ""
