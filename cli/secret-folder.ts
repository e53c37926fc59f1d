import { rmSync } from "node:fs";

/** A folder with tokens in it, and what was started in it. */
export interface SecretFolder {
  /** Has a part closed with the folder, before those that were started earlier; hands it over. */
  closing<T extends { close(): Promise<void> }>(part: T): T;
  /** Closes all parts, the last one first, and removes the folder. */
  close(): Promise<void>;
}

/** A folder that was just made: it goes with this process, which may be told to end at any time, or when it is closed. */
export function secretFolder(folder: string): SecretFolder {
  const remove = (): void => rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  process.once("exit", remove);
  const closers: (() => Promise<void>)[] = [
    async () => {
      remove();
      process.off("exit", remove);
    },
  ];
  return {
    closing(part) {
      closers.unshift(() => part.close());
      return part;
    },
    async close() {
      for (const closePart of closers.splice(0)) await closePart();
    },
  };
}
