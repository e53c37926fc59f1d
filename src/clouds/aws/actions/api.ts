import { type Closable, createRenewableClient } from "#clouds/aws/renewable-client.ts";
import { HTTP_TIMEOUTS } from "#platforms/aws/http.ts";
import type { CredentialSource } from "#platforms/aws/role-credentials.ts";

/** A service of AWS, as in the first part of an operation's name. */
export type Service = "ec2" | "elb" | "elbv2";

/**
 * Operations of AWS by `service:Operation`. Each takes the request, and resolves with the API's answer or
 * rejects with the SDK's error.
 */
export interface Api extends Closable {
  call(operation: string, request: object, signal: AbortSignal): Promise<object>;
}

/** The SDK's command class for an operation. */
// biome-ignore lint/suspicious/noExplicitAny: what a command takes is its own; the tables of requests say what that is.
export type Command = new (request: any) => object;

/** The commands in use, by `service:Operation`. Other operations cannot be sent and are not bundled. */
export type Commands = Readonly<Record<string, Command>>;

/** The part of an SDK client that is in use. */
export interface SdkClient {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  send(command: any, options: { readonly abortSignal: AbortSignal }): Promise<object>;
  destroy(): void;
}

/** Options of each client: one attempt, because the caller decides on retries. */
export interface ClientOptions {
  readonly region: string;
  readonly maxAttempts: 1;
  readonly requestHandler: typeof HTTP_TIMEOUTS;
  readonly credentials?: CredentialSource;
}

/** Parts of which an API is built. */
export interface ApiParts {
  readonly region: string;
  readonly services: Partial<Readonly<Record<Service, (options: ClientOptions) => SdkClient>>>;
  readonly commands: Commands;
  /** Called for each new set of clients; undefined for the SDK's standard chain. */
  readonly credentials: () => CredentialSource | undefined;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * Creates the operations of some services over kept-alive connections. The endpoints are
 * `AWS_ENDPOINT_URL_EC2`, `…_ELASTIC_LOAD_BALANCING` and `…_ELASTIC_LOAD_BALANCING_V2` where set. Clients are
 * created on first use and share their credentials.
 */
export function createApi({ region, services, commands, credentials, wallClock }: ApiParts): Api {
  const { send, close } = createRenewableClient((): Clients => {
    const source = credentials();
    const options: ClientOptions = {
      region,
      maxAttempts: 1,
      requestHandler: HTTP_TIMEOUTS,
      ...(source === undefined ? {} : { credentials: source }),
    };
    const clients = new Map<Service, SdkClient>();
    return {
      get(service) {
        const client = clients.get(service) ?? services[service]?.(options);
        if (client === undefined) throw new Error(`no client for the service ${service}`);
        clients.set(service, client);
        return client;
      },
      close() {
        for (const client of clients.values()) client.destroy();
      },
    };
  }, wallClock);
  return {
    async call(operation, request, abortSignal) {
      const command = commands[operation];
      if (command === undefined) throw new Error(`no command for the operation ${operation}`);
      const [service] = operation.split(":") as [Service];
      return send(async (clients) => clients.get(service).send(new command(request), { abortSignal }));
    },
    close,
  };
}

interface Clients extends Closable {
  get(service: Service): SdkClient;
}

/** Converts an answer of AWS to JSON: without the SDK's `$metadata`, dates, and undefined fields. */
export function toJson<Answer extends object>(answer: Answer): Omit<Answer, "$metadata"> {
  const { $metadata: _, ...rest } = answer as Answer & { readonly $metadata?: unknown };
  return toPlainValue(rest) as Omit<Answer, "$metadata">;
}

function toPlainValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toPlainValue);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).filter(([, each]) => each !== undefined && !(each instanceof Date));
  return Object.fromEntries(entries.map(([key, each]) => [key, toPlainValue(each)]));
}
