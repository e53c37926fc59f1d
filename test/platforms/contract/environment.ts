import { pathToFileURL } from "node:url";
import type { LambdaContext, LambdaHandler } from "#emulators/lambda/server.ts";

// One execution environment of a packaged function, in a process of its own: `node environment.ts INDEX`. It
// runs one event after the other, which its parent sends it, and ends with its parent.

/** An event on its way to an environment. */
export interface EnvironmentJob extends Pick<LambdaContext, "awsRequestId" | "functionName"> {
  readonly event: unknown;
  /** Milliseconds since the epoch. */
  readonly deadline: number;
}

/** The end of a job; `error` is what the handler threw. */
export type EnvironmentResult =
  | { readonly report: unknown }
  | { readonly error: { readonly name: string; readonly message: string } };

if (process.send !== undefined) await serve(process.send.bind(process), process.argv[2] ?? "");

async function serve(send: (message: unknown) => unknown, index: string): Promise<void> {
  process.once("disconnect", () => process.exit(0));
  const { handler } = (await import(pathToFileURL(index).href)) as { readonly handler: LambdaHandler };
  process.on("message", async ({ event, deadline, ...facts }: EnvironmentJob) => {
    const context = { ...facts, getRemainingTimeInMillis: () => Math.max(0, deadline - Date.now()) };
    const result: EnvironmentResult = await handler(event, context).then(
      (report) => ({ report }),
      (error: unknown) => {
        const { name, message } = error instanceof Error ? error : new Error(String(error));
        return { error: { name, message } };
      },
    );
    send(result);
  });
  send("loaded");
}
