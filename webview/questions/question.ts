/**
 * `<svc-question>`: what an agent asks, whole, with the decisions. It is made for one question: the
 * next one gets an element of its own, so that no click meets another question than the one that
 * was read.
 */
import { html, nothing } from "lit";
import { shownName, shownText } from "../../shared/foreign-text.ts";
import { LIMITS } from "../../shared/limits.ts";
import type { Question } from "../../shared/operations/questions.ts";
import { detailName, detailText } from "../../shared/question-words.ts";
import { exact } from "../../shared/time-words.ts";
import { announce } from "../controls/announce.ts";
import { failure } from "../controls/controls.ts";
import { icon } from "../controls/icons.ts";
import { button } from "../controls/toolkit.ts";
import { View } from "../controls/view.ts";
import type { Answer, Begun, OpenQuestions } from "../state/open-questions.ts";

/** From this many lines on, a text says how long it is, because it is scrolled. */
const LONG_LINES = 12;

class QuestionElement extends View {
  static override readonly properties = {
    question: { attribute: false },
    questions: { attribute: false },
    actor: {},
    settled: { state: true },
    busy: { state: true },
    problem: { state: true },
  };
  declare question: Question;
  declare questions: OpenQuestions;
  /** The Actor's shown name. */
  declare actor: string;
  declare settled: boolean;
  declare busy: boolean;
  declare problem: string | null;
  #timer: ReturnType<typeof setTimeout> | null = null;

  constructor() {
    super();
    this.settled = false;
    this.busy = false;
    this.problem = null;
  }

  override connectedCallback(): void {
    super.connectedCallback();
    this.#timer = setTimeout(() => (this.settled = true), LIMITS.questions.settlesMs);
  }

  override disconnectedCallback(): void {
    super.disconnectedCallback();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  protected override render() {
    const { kind, tool_name: tool, details, directory, expires_at: expiresAt } = this.question;
    const isPermission = kind === "permission";
    const asks = isPermission ? html`asks to use <b>${shownName(tool)}</b> once` : "asks you";
    return html`<div class="question" role="group" tabindex="-1" aria-label=${`${this.actor} ${isPermission ? `asks to use ${shownName(tool)}` : "asks you"}`}>
      <header class="question-head" title=${`Until ${exact(expiresAt)}. The first answer counts, also one in the terminal.`}>
        ${icon(isPermission ? "shield" : "question")}<span><bdi class="question-actor">${this.actor}</bdi> ${asks}</span>
      </header>
      ${directory === "" ? nothing : html`<p class="question-where">in <code><bdi>${shownName(directory)}</bdi></code></p>`}
      ${details.map(({ name, text }) => this.#detail(name, text))}
      ${this.#choices()}
      ${failure(this.problem)}
      <div class="question-answers">
        ${button({
          label: isPermission ? "Allow once" : "Answer",
          primary: !isPermission,
          disabled: !this.settled || this.busy || !this.#isAnswered,
          onClick: () => this.#decide("allow"),
        })}
        ${button({
          label: isPermission ? "Deny" : "Decline",
          disabled: !this.settled || this.busy,
          onClick: () => this.#decide("deny"),
        })}
        ${button({
          label: this.question.in_terminal ? "Open terminal" : "Ask in the terminal",
          disabled: this.busy,
          onClick: () => this.#toTerminal(),
        })}
      </div>
    </div>`;
  }

  #detail(name: string, text: string) {
    const lines = text.split("\n").length;
    const label = detailName(name);
    const tone = name === "old_string" ? "removed" : name === "new_string" ? "added" : "";
    return html`<div class="question-detail">
      <span class="question-name">${label}${lines >= LONG_LINES ? `, ${lines} lines` : ""}</span>
      <pre class="question-text ${tone}" dir="ltr" tabindex="0" aria-label=${label}>${detailText(text)}</pre>
    </div>`;
  }

  #choices() {
    const begun = this.questions.begun(this.question);
    return this.question.choices.map((choice, index) => this.#choice(choice, index, begun[index]!));
  }

  #choice(choice: Question["choices"][number], index: number, begun: Begun) {
    const { header, question, multiple, options } = choice;
    const name = this.#nameOf(index);
    return html`<fieldset class="question-choice">
      <legend>${header === "" ? nothing : html`<span class="question-name">${shownName(header)}</span>`}${shownText(question)}</legend>
      ${options.map(
        ({ label, description }) => html`<label class="question-option">
          <input
            type=${multiple ? "checkbox" : "radio"}
            name=${name}
            .checked=${begun.labels.includes(label)}
            @change=${(event: Event) => this.#choose(index, label, multiple, (event.target as HTMLInputElement).checked)}
          />
          <span><bdi>${shownName(label)}</bdi>${description === "" ? nothing : html`<span class="question-more">${shownText(description)}</span>`}</span>
        </label>`,
      )}
      ${this.#own(choice, index, begun)}
    </fieldset>`;
  }

  /** In a single choice they have a mark as well, so that one sees whether they are the answer. */
  #own(
    { question, multiple, options }: Question["choices"][number],
    index: number,
    { labels, words }: Begun,
  ) {
    const field = html`<input
      class="question-words"
      type="text"
      autocomplete="off"
      placeholder=${options.length === 0 ? "Your answer" : "Or in your words"}
      aria-label=${`Your words: ${shownText(question)}`}
      .value=${words}
      @input=${(event: Event) => this.#write(index, (event.target as HTMLInputElement).value, multiple)}
    />`;
    if (multiple || options.length === 0) return field;
    return html`<div class="question-option">
      <label
        ><input
          type="radio"
          name=${this.#nameOf(index)}
          aria-label="Answer in your words"
          .checked=${labels.length === 0 && words.trim() !== ""}
          @change=${() => this.#begin(index, () => ({ labels: [], words }))}
      /></label>
      ${field}
    </div>`;
  }

  #nameOf(index: number): string {
    return `${this.question.question_id}-${index}`;
  }

  #choose(index: number, label: string, multiple: boolean, isChosen: boolean): void {
    this.#begin(index, ({ labels, words }) => {
      const others = multiple ? labels.filter((one) => one !== label) : [];
      return { labels: isChosen ? [...others, label] : others, words };
    });
  }

  /** One's own words replace what is chosen where only one answer is taken. */
  #write(index: number, words: string, multiple: boolean): void {
    this.#begin(index, ({ labels }) => ({ labels: multiple || words.trim() === "" ? labels : [], words }));
  }

  #begin(index: number, change: (begun: Begun) => Begun): void {
    const begun = this.questions.begun(this.question);
    this.questions.begin(
      this.question,
      begun.map((one, at) => (at === index ? change(one) : one)),
    );
    this.requestUpdate();
  }

  get #answers(): string[][] {
    const begun = this.questions.begun(this.question);
    return this.question.choices.map(({ multiple }, index) => {
      const { labels, words } = begun[index]!;
      const own = words.trim();
      return own === "" || (!multiple && labels.length > 0) ? [...labels] : [...labels, own];
    });
  }

  get #isAnswered(): boolean {
    return this.#answers.every((answer) => answer.length > 0);
  }

  #decide(decision: "allow" | "deny"): void {
    const answers =
      decision === "allow" && this.question.kind === "choices" ? { answers: this.#answers } : {};
    const words =
      decision === "deny" ? "Denied" : this.question.kind === "choices" ? "Answered" : "Allowed once";
    void this.#give({ decision, ...answers }, words);
  }

  #toTerminal(): void {
    this.tell("open-terminal", this.question.actor_id);
    if (!this.question.in_terminal) void this.#give({ decision: "terminal" }, "Its terminal asks now");
  }

  async #give(how: Pick<Answer, "decision" | "answers">, words: string): Promise<void> {
    const { actor_id: actorId, question_id: questionId } = this.question;
    this.busy = true;
    this.problem = null;
    const answering = this.questions.answer({ actor_id: actorId, question_id: questionId, ...how });
    // Its elements above are told now: this one is gone with its question.
    this.tell("question-answering", answering);
    try {
      await answering;
      announce(words);
    } catch (error) {
      this.busy = false;
      this.problem = error instanceof Error ? error.message : String(error);
      announce(this.problem);
    }
  }
}

customElements.define("svc-question", QuestionElement);
