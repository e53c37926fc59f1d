import type { CredentialSource } from "#clouds/aws/credentials.ts";
import { HTTP_TIMEOUTS } from "#clouds/aws/http.ts";
import { type Closable, createRenewed } from "#clouds/aws/renewed.ts";

/** A service of AWS, as the names of operations begin. */
export type Service = "ec2" | "elb" | "elbv2";

/** Operations of AWS by `service:Operation`; each is sent its request and answers with the API's answer, or rejects with the SDK's error. */
export interface Api extends Closable {
  call(operation: string, request: object, signal: AbortSignal): Promise<object>;
}

/** The command that the SDK has for an operation. */
// biome-ignore lint/suspicious/noExplicitAny: what a command takes is its own; the tables of requests say what that is.
export type Command = new (request: any) => object;

/** The commands in use, by `service:Operation`: what is not among them cannot be sent, and is in no bundle. */
export type Commands = Readonly<Record<string, Command>>;

/** Of an SDK's client, what is in use. */
export interface SdkClient {
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  send(command: any, options: { readonly abortSignal: AbortSignal }): Promise<object>;
  destroy(): void;
}

/** What each client is made with: one attempt, as whoever calls decides on further ones. */
export interface ClientOptions {
  readonly region: string;
  readonly maxAttempts: 1;
  readonly requestHandler: typeof HTTP_TIMEOUTS;
  readonly credentials?: CredentialSource;
}

/** What an API is made of. */
export interface ApiParts {
  readonly region: string;
  readonly services: Partial<Readonly<Record<Service, (options: ClientOptions) => SdkClient>>>;
  readonly commands: Commands;
  /** Asked anew for each set of clients; undefined for the SDK's standard chain. */
  readonly credentials: () => CredentialSource | undefined;
  /** Milliseconds since the epoch. */
  readonly wallClock: () => number;
}

/**
 * The operations of some services over kept-alive connections, at `AWS_ENDPOINT_URL_EC2`, `…_ELASTIC_LOAD_BALANCING` and
 * `…_ELASTIC_LOAD_BALANCING_V2` where those are set. A client is made when it is first used; all share their credentials.
 */
export function createApi({ region, services, commands, credentials, wallClock }: ApiParts): Api {
  const { send, close } = createRenewed((): Clients => {
    const source = credentials();
    const options: ClientOptions = {
      region,
      maxAttempts: 1,
      requestHandler: HTTP_TIMEOUTS,
      ...(source === undefined ? {} : { credentials: source }),
    };
    const made = new Map<Service, SdkClient>();
    return {
      of(service) {
        const client = made.get(service) ?? services[service]?.(options);
        if (client === undefined) throw new Error(`no client for the service ${service}`);
        made.set(service, client);
        return client;
      },
      close() {
        for (const client of made.values()) client.destroy();
      },
    };
  }, wallClock);
  return {
    async call(operation, request, abortSignal) {
      const command = commands[operation];
      if (command === undefined) throw new Error(`no command for the operation ${operation}`);
      const [service] = operation.split(":") as [Service];
      return send(async (clients) => clients.of(service).send(new command(request), { abortSignal }));
    },
    close,
  };
}

interface Clients extends Closable {
  of(service: Service): SdkClient;
}
