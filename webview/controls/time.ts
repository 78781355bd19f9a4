/**
 * `<svc-time>`: a time in words that stays true, with the exact one on hover. One timer serves all
 * of them and rests while hidden.
 */
import { age, ago, clock, exact, lasting, past } from "../../shared/time-words.ts";

const shown = new Set<TimeElement>();
let timer: ReturnType<typeof setInterval> | null = null;

function tick(): void {
  if (document.hidden) return;
  const now = Date.now();
  for (const element of shown) element.say(now);
}

class TimeElement extends HTMLElement {
  static readonly observedAttributes = ["value", "manner"];

  connectedCallback(): void {
    shown.add(this);
    timer ??= setInterval(tick, 1000);
    this.say(Date.now());
  }

  disconnectedCallback(): void {
    shown.delete(this);
    if (shown.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  }

  attributeChangedCallback(): void {
    const value = this.#value();
    this.title = value === null ? "" : exact(value);
    this.say(Date.now());
  }

  say(now: number): void {
    const value = this.#value();
    const words = value === null ? "" : this.#words(value, now);
    if (this.textContent !== words) this.textContent = words;
  }

  #value(): string | number | null {
    const value = this.getAttribute("value");
    if (value === null || value === "") return null;
    return /^[\d.]+$/.test(value) ? Number(value) : value;
  }

  #words(value: string | number, now: number): string {
    switch (this.getAttribute("manner") ?? "ago") {
      case "lasting":
        return lasting(value, now);
      case "past":
        return past(value, now);
      case "clock":
        return clock(value);
      case "age":
        return age(typeof value === "number" ? value : Date.parse(value), now);
      default:
        return ago(value, now);
    }
  }
}

customElements.define("svc-time", TimeElement);
