/** Says something to screen readers without moving anything: "Copied", "Sent". */
let region: HTMLElement | null = null;

export function announce(text: string): void {
  if (region === null) {
    region = document.createElement("div");
    region.className = "only-heard";
    region.setAttribute("role", "status");
    document.body.append(region);
  }
  region.textContent = text;
}
