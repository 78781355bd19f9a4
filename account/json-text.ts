/** An object that is JSON already, as the store wrote it. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}
