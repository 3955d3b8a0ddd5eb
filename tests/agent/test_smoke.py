from tests.kit import EDIT, FINISH, VERIFY, play, workspace


def test_A5_an_edit_after_a_verification_opens_the_debt_again(cast):
    workspace(cast.alice)
    told = play(cast.alice, [EDIT, VERIFY, {**EDIT, "content": "again\n"}, FINISH, VERIFY, FINISH])
    assert told.types.count("finish.refused") == 1
    assert told.state == "succeeded"
