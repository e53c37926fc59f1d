import { styleText } from "node:util";

/** Milliseconds between two reads of a count, on a terminal and otherwise. */
const TERMINAL_INTERVAL_MS = 100;
const PLAIN_INTERVAL_MS = 1_000;

let liveLine = "";

/** Prints a line, above the live one if there is one. */
export function print(line: string): void {
  process.stdout.write(liveLine === "" ? `${line}\n` : `\r\x1b[2K${line}\n${liveLine}`);
}

/** Prints a value as indented JSON. */
export function printJson(value: unknown): void {
  print(JSON.stringify(value, undefined, 2));
}

/** Prints the heading of an act. */
export function printTitle(act: number, text: string): void {
  print(`\n${styleText("bold", `── ${act}. ${text} ──`)}`);
}

/** Shows a changing text: in place on a terminal, as lines otherwise, and once more when it stops. */
export function createCounter(read: () => string): { readonly stop: () => void } {
  const live = process.stdout.isTTY === true;
  let last = "";
  const show = (): void => {
    const text = read();
    if (text === last) return;
    last = text;
    if (live) {
      liveLine = text;
      process.stdout.write(`\r\x1b[2K${text}`);
    } else print(text);
  };
  const timer = setInterval(show, live ? TERMINAL_INTERVAL_MS : PLAIN_INTERVAL_MS);
  return {
    stop: () => {
      clearInterval(timer);
      show();
      if (live) process.stdout.write("\n");
      liveLine = "";
    },
  };
}
