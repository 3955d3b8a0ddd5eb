"""Signing in: by password, or by a one-time link. Signing out. Choosing a password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import login, logout, update_session_auth_hash
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm, SetPasswordForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from runtime.people import service, sessions
from runtime.web.pages import person, show

BACKEND = "django.contrib.auth.backends.ModelBackend"
MAX_LINK = 200


class SignIn(LoginView):
    """The form; and `?link=…`, which signs in once and leads to the runs.

    A link is redeemed by GET alone: a HEAD, as previews send it, must not use it up.
    """

    template_name = "login/index.html"

    def get(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        """Redeem a link, or show the form."""
        secret = request.GET.get("link")
        if secret is not None and request.method == "GET":
            return self._redeem(request, secret[:MAX_LINK])
        if request.user.is_authenticated:
            return redirect(settings.LOGIN_REDIRECT_URL)
        return super().get(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        """Let the person in, on the record."""
        sessions.signed_in(form.get_user())
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        """Say so, and put the refusal on the record. A form that was left empty is none."""
        if form.non_field_errors():
            sessions.refused(str(form.cleaned_data.get("username", "")))
        return super().form_invalid(form)

    def _redeem(self, request: HttpRequest, secret: str) -> HttpResponse:
        user = service.redeem(secret)
        if user is None:
            context = self.get_context_data(form=self.get_form(), spent=True)
            return show(request, self.template_name, context, status=403)
        login(request, user, backend=BACKEND)
        return redirect(settings.LOGIN_REDIRECT_URL)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """End the session."""
    if request.user.is_authenticated:
        sessions.signed_out(person(request))
    logout(request)
    return redirect(settings.LOGOUT_REDIRECT_URL)


@sensitive_post_parameters()
@require_http_methods(["GET", "POST"])
def password(request: HttpRequest) -> HttpResponse:
    """Choose a password. Whoever has one already must name it."""
    user = person(request)
    kind = PasswordChangeForm if user.has_usable_password() else SetPasswordForm
    form = kind(user, request.POST or None)
    if request.method == "POST" and form.is_valid():
        form.save(commit=False)  # it takes its time, which no lock should last
        sessions.keep_password(user)
        update_session_auth_hash(request, user)
        messages.success(request, "Your password is set. You can sign in with it from now on.")
        return redirect("runs")
    status = 400 if form.errors else 200
    return show(request, "login/password.html", {"form": form}, status=status)
