import { rmSync } from "node:fs";

/** A folder that contains tokens, and the parts started in it. */
export interface SecretFolder {
  /** Closes a part with the folder, before earlier parts; returns the part. */
  closing<T extends { close(): Promise<void> }>(part: T): T;
  /** Closes all parts, the last one first, and removes the folder. */
  close(): Promise<void>;
}

/**
 * Opens a newly created folder, which is removed when it is closed or when this process ends, even on a
 * signal.
 */
export function openSecretFolder(folder: string): SecretFolder {
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
