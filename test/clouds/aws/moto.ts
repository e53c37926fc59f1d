import { type ChildProcess, spawn } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";

/** A running moto_server. */
export interface Moto {
  readonly url: string;
  close(): Promise<void>;
}

/** The program, from `MOTO_SERVER` or the PATH; undefined where the machine has none. */
export function motoServer(): string | undefined {
  const named = process.env["MOTO_SERVER"];
  if (named) return named;
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  return folders.map((folder) => join(folder, "moto_server")).find(isExecutable);
}

/** Starts moto on a free port of the loopback interface; rejects where it does not come up within half a minute. */
export async function startMoto(program: string): Promise<Moto> {
  const child = spawn(program, ["-H", "127.0.0.1", "-p", "0"], { stdio: ["ignore", "pipe", "pipe"] });
  const url = await announcedUrl(child);
  return {
    url,
    close: () =>
      new Promise((resolve) => {
        child.once("exit", () => resolve());
        child.kill("SIGTERM");
      }),
  };
}

function announcedUrl(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let output = "";
    const timer = setTimeout(() => fail("did not announce its address in time"), 30_000);
    const fail = (because: string): void => {
      clearTimeout(timer);
      child.kill("SIGKILL");
      reject(new Error(`moto_server ${because}: ${output}`));
    };
    const read = (chunk: Buffer): void => {
      output += chunk.toString();
      const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? [];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    child.once("exit", (code) => fail(`ended with ${code}`));
    child.once("error", (error) => fail(String(error)));
  });
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
