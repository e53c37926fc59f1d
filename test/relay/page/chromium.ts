import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import * as z from "zod";

/** A page in a browser, with a width in pixels. */
export interface Tab {
  /** Evaluates an expression and returns its value as JSON. */
  evaluate(expression: string): Promise<unknown>;
  /** Presses and releases a key: `Tab` or `Enter`. */
  press(key: "Tab" | "Enter"): Promise<void>;
  /** Returns the visible part as a PNG in base64. */
  screenshot(): Promise<string>;
}

export interface Browser {
  /** Opens a page and resolves when it is loaded. */
  open(url: string, width: number, height?: number): Promise<Tab>;
  close(): Promise<void>;
}

const Message = z.object({
  id: z.number().optional(),
  method: z.string().optional(),
  sessionId: z.string().optional(),
  result: z.record(z.string(), z.unknown()).optional(),
  error: z.object({ message: z.string() }).optional(),
});
type Send = (method: string, params?: object) => Promise<Readonly<Record<string, unknown>>>;

const KEY_CODES = { Tab: 9, Enter: 13 } as const;

/** Starts a Chromium without a window and speaks its DevTools protocol. */
export async function startChromium(program: string): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), "chromium-"));
  const flags = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--hide-scrollbars",
    `--user-data-dir=${profile}`,
  ];
  const child = spawn(program, [...flags, "--remote-debugging-port=0", "about:blank"], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(child, "close");
  const endpoint = await endpointIn(child.stderr);
  child.stderr.resume();
  const connection = await connect(endpoint);
  return {
    async open(url, width, height = 800) {
      const { targetId } = await connection.send("Target.createTarget", { url: "about:blank" });
      const { sessionId } = await connection.send("Target.attachToTarget", { targetId, flatten: true });
      const send: Send = (method, params) => connection.send(method, params, String(sessionId));
      await send("Page.enable");
      const size = { width, height, deviceScaleFactor: 1, mobile: false };
      await send("Emulation.setDeviceMetricsOverride", size);
      await send("Emulation.setEmulatedMedia", {
        features: [{ name: "prefers-color-scheme", value: "light" }],
      });
      const loaded = connection.event("Page.loadEventFired", String(sessionId));
      await send("Page.navigate", { url });
      await loaded;
      return tabOf(send);
    },
    async close() {
      connection.close();
      child.kill("SIGTERM");
      await ended;
      await rm(profile, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

function tabOf(send: Send): Tab {
  return {
    async evaluate(expression) {
      const answer = await send("Runtime.evaluate", { expression, returnByValue: true, awaitPromise: true });
      const { result, exceptionDetails } = z
        .object({ result: z.object({ value: z.unknown() }).loose(), exceptionDetails: z.unknown() })
        .partial()
        .parse(answer);
      if (exceptionDetails !== undefined) throw new Error(JSON.stringify(exceptionDetails));
      return result?.value;
    },
    async press(key) {
      const event = { key, code: key, windowsVirtualKeyCode: KEY_CODES[key] };
      const text = key === "Enter" ? { text: "\r" } : {};
      await send("Input.dispatchKeyEvent", {
        type: key === "Enter" ? "keyDown" : "rawKeyDown",
        ...event,
        ...text,
      });
      await send("Input.dispatchKeyEvent", { type: "keyUp", ...event });
    },
    async screenshot() {
      const { data } = await send("Page.captureScreenshot", { format: "png" });
      return String(data);
    },
  };
}

async function endpointIn(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stderr)) {
    const [, endpoint] = /^DevTools listening on (ws:\S+)$/.exec(line) ?? [];
    if (endpoint !== undefined) return endpoint;
  }
  throw new Error("Chromium ended before it listened");
}

async function connect(endpoint: string) {
  const socket = new WebSocket(endpoint);
  await once(socket, "open");
  let last = 0;
  const calls = new Map<
    number,
    { resolve: (result: Readonly<Record<string, unknown>>) => void; reject: (error: Error) => void }
  >();
  const events = new Map<string, () => void>();
  socket.addEventListener("message", ({ data }) => {
    const { id, method, sessionId, result, error } = Message.parse(JSON.parse(String(data)));
    if (method !== undefined) events.get(`${sessionId} ${method}`)?.();
    const call = calls.get(id ?? -1);
    calls.delete(id ?? -1);
    if (error !== undefined) call?.reject(new Error(error.message));
    else call?.resolve(result ?? {});
  });
  return {
    send(method: string, params: object = {}, sessionId?: string) {
      last += 1;
      const id = last;
      const session = sessionId === undefined ? {} : { sessionId };
      socket.send(JSON.stringify({ id, method, params, ...session }));
      return new Promise<Readonly<Record<string, unknown>>>((resolve, reject) =>
        calls.set(id, { resolve, reject }),
      );
    },
    event: (method: string, sessionId: string) =>
      new Promise<void>((resolve) => events.set(`${sessionId} ${method}`, resolve)),
    close: () => socket.close(),
  };
}
