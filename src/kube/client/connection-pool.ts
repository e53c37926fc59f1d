import type { Connection } from "#kube/client/connection.ts";

/** Holds the one connection for new requests, and older ones that finish their streams. */
export interface ConnectionPool {
  /**
   * Returns the current connection or opens a new one, shared by concurrent callers. Rejects with
   * `ApiUnreachable`.
   */
  get(): Promise<Connection>;
  /** Returns the connection that `get` would return, if it is already open. */
  ready(): Connection | undefined;
  /** Returns the current connection, if any. */
  current(): Connection | undefined;
  /** Sends new requests to a new connection; open streams of the current one finish. */
  retire(): void;
  close(): Promise<void>;
}

/**
 * Limit of consecutive openings: a connection may be retired before it is ready, after a rejected sign-in or
 * a close by the server.
 */
const MAX_OPENINGS = 3;

/**
 * Creates a connection pool; `open` opens a connection. It replaces a connection that was idle for
 * `maxIdleMs` without open streams, or whose credentials are about to expire according to `isOver`.
 */
export function createConnectionPool(
  open: () => Promise<Connection>,
  maxIdleMs: number,
  isOver: (connection: Connection) => boolean = () => false,
): ConnectionPool {
  const all = new Set<Connection>();
  let current: Connection | undefined;
  let opening: Promise<Connection> | undefined;

  const openNew = (): Promise<Connection> => {
    const own = open().then((connection) => {
      all.add(connection);
      void connection.closed.then(() => all.delete(connection));
      if (opening === own) current = connection;
      // Retired before it was ready: waiting callers wait for the next one.
      else connection.retire();
      return connection;
    });
    opening = own;
    const ended = (): void => {
      if (opening === own) opening = undefined;
    };
    own.then(ended, ended);
    return own;
  };

  const ready = (): Connection | undefined => {
    if (current?.usable() && current.openStreams() === 0 && current.silentMs() > maxIdleMs) current.retire();
    if (current?.usable() && isOver(current)) current.retire();
    return current?.usable() ? current : undefined;
  };

  return {
    ready,
    async get() {
      for (let openings = 1; ; openings += 1) {
        const connection = ready() ?? (await (opening ?? openNew()));
        if (connection.usable() || openings === MAX_OPENINGS) return connection;
      }
    },
    current: () => (current?.usable() ? current : undefined),
    retire() {
      current?.retire();
      opening = undefined;
    },
    async close() {
      // Its own signal ends a pending opening before this call.
      await opening?.catch(() => undefined);
      await Promise.all([...all].map((connection) => connection.destroy()));
    },
  };
}
