import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { Worker } from "node:worker_threads";

/** An endpoint without Lambda. */
export interface DeadEndpoint {
  readonly url: string;
  close(): Promise<void>;
}

/** A port without a listener. */
export async function startRefusingEndpoint(): Promise<DeadEndpoint> {
  const server = createServer();
  const url = await listening(server);
  await closing(server);
  return { url, close: () => Promise.resolve() };
}

/** A host name that never exists (RFC 2606). */
export async function createUnknownHostEndpoint(): Promise<DeadEndpoint> {
  return { url: "http://lambda.nowhere.invalid", close: () => Promise.resolve() };
}

/** Takes every connection, and resets it as soon as the request arrives. */
export async function startResettingEndpoint(): Promise<DeadEndpoint> {
  return ending((socket) => void socket.resetAndDestroy());
}

/** Takes every connection, and closes it as soon as something arrives. */
export async function startClosingEndpoint(): Promise<DeadEndpoint> {
  return ending((socket) => void socket.destroy());
}

async function ending(end: (socket: Socket) => void): Promise<DeadEndpoint> {
  const server = createServer((socket) => {
    socket.on("error", () => {});
    socket.once("data", () => end(socket));
  });
  return { url: await listening(server), close: () => closing(server) };
}

/** Gives every request the same answer. */
export async function startAnsweringEndpoint(status: number, errorType?: string): Promise<DeadEndpoint> {
  const server = createHttpServer((request, response) => {
    request.resume();
    request.once("end", () => {
      const headers = errorType === undefined ? {} : { "x-amzn-errortype": errorType };
      response.writeHead(status, headers).end('{"Message":"no"}');
    });
  });
  return {
    url: await listening(server),
    async close() {
      server.closeAllConnections();
      await closing(server);
    },
  };
}

/** Accepts no connection: it listens, accepts none, and its queue is full. */
export async function startUnacceptingEndpoint(): Promise<DeadEndpoint> {
  const worker = new Worker(LISTENS_AND_SLEEPS, { eval: true });
  const port = await new Promise<number>((resolve, reject) => {
    worker.once("message", resolve);
    worker.once("error", reject);
  });
  const sockets: Socket[] = [];
  // The first that is not taken tells that the queue is full; it would be retried forever, so it is dropped.
  for (let isTaken = true; isTaken; ) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    isTaken = await new Promise<boolean>((resolve) => {
      socket.once("connect", () => resolve(true));
      // On a loaded machine the news of the connection may wait for this turn of the event loop.
      setTimeout(() => setImmediate(() => resolve(false)), FULL_MS);
    });
    if (isTaken) sockets.push(socket);
    else socket.destroy();
    if (sockets.length > MAX_QUEUE) throw new Error(`a queue of more than ${MAX_QUEUE} connections`);
  }
  return {
    url: `http://127.0.0.1:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy();
      await worker.terminate();
    },
  };
}

const LISTENS_AND_SLEEPS = `
  const { createServer } = require("node:net");
  const { parentPort } = require("node:worker_threads");
  const server = createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

const FULL_MS = 300;
const MAX_QUEUE = 16;

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function closing(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}
