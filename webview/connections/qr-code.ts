/**
 * A text as a QR code, drawn as one path: the page's policy allows neither inline styles nor
 * pictures from elsewhere.
 */
import { html, type TemplateResult } from "lit";
import { create } from "qrcode";

/** Light modules around the code that readers need. */
const QUIET = 4;

/** `label` describes it for those who can't see it. */
export function qrCode(text: string, label: string): TemplateResult {
  const { modules } = create(text, { errorCorrectionLevel: "L" });
  const side = modules.size + 2 * QUIET;
  let path = "";
  for (let row = 0; row < modules.size; row += 1) {
    for (let column = 0; column < modules.size; column += 1) {
      if (modules.get(row, column) === 1) path += `M${column + QUIET} ${row + QUIET}h1v1h-1z`;
    }
  }
  return html`<svg class="qr" viewBox="0 0 ${side} ${side}" role="img" aria-label=${label} shape-rendering="crispEdges">
    <rect class="qr-light" width=${side} height=${side}></rect>
    <path class="qr-dark" d=${path}></path>
  </svg>`;
}
