/**
 * The only script of the pages. It lets a form's passkey be made or used, and moves an invitation
 * from behind the hash sign into its form. What it knows comes from the form's data attributes.
 */
export const PASSKEY_SCRIPT = `"use strict";
const toBytes = (text) => Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
const toText = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)))
  .replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
const PROBLEMS = {
  InvalidStateError: "There is already a passkey for your account on this device.",
  SecurityError: "Passkeys don't work at this address. Tell the administrator of this service.",
};
const named = (list) => (list ?? []).map((each) => ({ ...each, id: toBytes(each.id) }));

async function create(form, options) {
  const name = form.elements.name?.value ?? options.user.name;
  const made = await navigator.credentials.create({ publicKey: {
    ...options,
    challenge: toBytes(options.challenge),
    user: { ...options.user, id: toBytes(options.user.id), name, displayName: name },
    excludeCredentials: named(options.excludeCredentials),
  } });
  const { response } = made;
  return { id: made.id, rawId: made.id, type: made.type, response: {
    clientDataJSON: toText(response.clientDataJSON),
    attestationObject: toText(response.attestationObject),
    transports: response.getTransports?.() ?? [],
  } };
}

async function use(options) {
  const used = await navigator.credentials.get({ publicKey: {
    ...options, challenge: toBytes(options.challenge), allowCredentials: named(options.allowCredentials),
  } });
  const { response } = used;
  return { id: used.id, rawId: used.id, type: used.type, response: {
    clientDataJSON: toText(response.clientDataJSON),
    authenticatorData: toText(response.authenticatorData),
    signature: toText(response.signature),
  } };
}

for (const form of document.querySelectorAll("form[data-passkey]")) {
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const problem = form.querySelector("[role=alert]");
    problem.textContent = "";
    if (navigator.credentials === undefined) {
      problem.textContent = PROBLEMS.SecurityError;
      return;
    }
    try {
      const options = JSON.parse(form.dataset.options);
      const answer = form.dataset.passkey === "create" ? await create(form, options) : await use(options);
      form.elements.passkey.value = JSON.stringify(answer);
      form.submit();
    } catch (error) {
      problem.textContent = PROBLEMS[error.name] ?? "No passkey was used. Try again, or reload the page if it has been open for some minutes.";
    }
  });
}

const invitation = document.querySelector("input[name=invitation]");
if (invitation !== null && location.hash.length > 1) {
  invitation.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
`;
