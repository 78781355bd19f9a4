/** The pages of members: each path as one row, in front of it the checks that all of them share. */
import type { Express, Request, Response } from "express";
import type { Clock } from "../../platform/clock.ts";
import { checkLength, readBytes } from "../../platform/http/body.ts";
import { Refusal } from "../../shared/errors.ts";
import { LIMITS } from "../../shared/limits.ts";
import { type AddressOf, checkStorable, FORM_TYPE, fieldsOf, headerOf, send } from "../http.ts";
import type { Browser, Member, Sessions } from "../members/sessions.ts";
import { sameText } from "../secrets.ts";

/** A request for a page, after its checks. */
export interface Visit {
  browser: Browser;
  /** Fields of the query or of the form. */
  fields: Readonly<Record<string, string>>;
  /** Variables of the path. */
  params: Readonly<Record<string, string>>;
  address: string;
  response: Response;
}

export interface MemberVisit extends Visit {
  member: Member;
}

/** A page, or where the browser goes next. */
export type Shown = { page: string; status?: number } | { goTo: string };

interface Row<Kind extends Visit> {
  path: string;
  /** Fields that it takes. A form with another one is refused. */
  fields: readonly string[];
  serve(visit: Kind): Shown | Promise<Shown>;
}

export interface Site {
  /** For everybody. */
  open: { get: readonly Row<Visit>[]; post: readonly Row<Visit>[] };
  /** For members who are signed in. */
  member: { get: readonly Row<MemberVisit>[]; post: readonly Row<MemberVisit>[] };
}

export interface SiteDependencies {
  origin: string;
  clock: Clock;
  addressOf: AddressOf;
  sessions: Sessions;
}

/** Adds the pages. A form passes in this order: origin, length, body, browser, CSRF, page. */
export function addPages(app: Express, deps: SiteDependencies, site: Site): void {
  const { open, member } = site;
  const serve =
    (row: Row<Visit>, isForm: boolean, needsMember: boolean) =>
    async (request: Request, response: Response) => {
      if (isForm) checkFormOrigin(request, deps.origin);
      const fields = isForm ? await formOf(request, deps.clock) : queryOf(request);
      const browser = await deps.sessions.browser(request, response);
      if (isForm) {
        checkCsrf(browser, fields);
        checkFields(fields, row.fields);
      }
      const params = request.params as Record<string, string>;
      checkStorable(Object.values(params));
      const visit: Visit = { browser, fields, params, address: deps.addressOf(request), response };
      if (needsMember) {
        if (browser.session === null) {
          goTo(response, signInFor(isForm ? "/" : request.originalUrl));
          return;
        }
        (visit as MemberVisit).member = browser.session.member;
      }
      const shown = await row.serve(visit);
      if ("goTo" in shown) goTo(response, shown.goTo);
      else send(response, shown.status ?? 200, "text/html", shown.page);
    };
  for (const row of open.get) app.get(row.path, serve(row, false, false));
  for (const row of open.post) app.post(row.path, serve(row, true, false));
  for (const row of member.get) app.get(row.path, serve(row as Row<Visit>, false, true));
  for (const row of member.post) app.post(row.path, serve(row as Row<Visit>, true, true));
  const all = [...open.get, ...open.post, ...member.get, ...member.post].map(({ path }) => path);
  const forms = new Set([...open.post, ...member.post].map(({ path }) => path));
  const pages = new Set([...open.get, ...member.get].map(({ path }) => path));
  for (const path of new Set(all)) {
    app.all(path, (_request, response) => {
      response.setHeader(
        "Allow",
        [...(pages.has(path) ? ["GET, HEAD"] : []), ...(forms.has(path) ? ["POST"] : [])].join(", "),
      );
      throw new Refusal("method_not_allowed", { remedy: "Start again from the first page." });
    });
  }
}

/** The sign-in page that leads back to this service's own `path`. */
export function signInFor(path: string): string {
  return path === "/" ? "/login" : `/login?next=${encodeURIComponent(path)}`;
}

/** The same for members who are signed in, but not freshly enough for what comes next. */
export function signInAgainFor(path: string): string {
  return `/login?again=1&next=${encodeURIComponent(path)}`;
}

const SELECTION = "(?:ticket|invitation|lang)=[A-Za-z0-9_-]{0,6000}";
const NEXT = new RegExp(
  `^/(?:security|device(?:\\?user_code=[A-Za-z-]{1,16})?|connect(?:/select\\?${SELECTION}(?:&${SELECTION}){0,2}|/[0-9a-f-]{36}/disconnect)?)?$`,
  "u",
);

/** A path of this service to which a sign-in may lead. Anything else becomes the first page. */
export function nextPath(next: string | undefined): string {
  return next !== undefined && NEXT.test(next) ? next : "/";
}

function goTo(response: Response, path: string): void {
  response.setHeader("Location", path);
  send(response, 303, "text/plain", "");
}

/** Every browser names the origin of a form. Another page's form is refused, whatever it knows. */
function checkFormOrigin(request: Request, origin: string): void {
  const site = headerOf(request, "sec-fetch-site");
  if (headerOf(request, "origin") !== origin || (site !== undefined && site !== "same-origin"))
    throw new Refusal("origin_denied", { remedy: "Open the page of the account service and use its form." });
}

function checkCsrf(browser: Browser, fields: Record<string, string>): void {
  const token = fields["csrf"] ?? "";
  delete fields["csrf"];
  if (!sameText(token, browser.csrf)) {
    throw new Refusal("csrf_denied", {
      specifics: "You signed in or out after this page was opened, or your browser keeps no cookies.",
      remedy: "Open it again from the first page.",
    });
  }
}

async function formOf(request: Request, clock: Clock): Promise<Record<string, string>> {
  const tooLong = checkLength(request, LIMITS.account.requestBytes);
  if (tooLong !== null) throw tooLong;
  if (!FORM_TYPE.test(request.headers["content-type"] ?? "")) throw new Refusal("unsupported_media_type");
  const bytes = await readBytes(request, clock, LIMITS.account.requestBytes);
  return fieldsOf(bytes.toString("utf8"));
}

function queryOf(request: Request): Record<string, string> {
  const mark = request.originalUrl.indexOf("?");
  return fieldsOf(mark === -1 ? "" : request.originalUrl.slice(mark + 1));
}

function checkFields(fields: Readonly<Record<string, string>>, known: readonly string[]): void {
  if (Object.keys(fields).some((name) => !known.includes(name)))
    throw new Refusal("invalid_request", { specifics: "The form has a field that isn't known." });
}
