/** A day in the person's time zone as a date field has it: `2026-01-31`. */
export function localDate(day: Date): string {
  const two = (number: number): string => String(number).padStart(2, "0");
  return `${day.getFullYear()}-${two(day.getMonth() + 1)}-${two(day.getDate())}`;
}
