import type { ConfigurationFault } from "#cli/configuration-error.ts";
import { shown } from "#core/shown-text.ts";

/** A flag that is given once for all AWS accounts, or once for each as `ACCOUNT=VALUE`. */
export interface AccountValues {
  readonly values: readonly string[];
  of(account: string): string | undefined;
  /** Whether one value is all accounts'. */
  readonly isForAll: boolean;
  /** Says of what is given which is about none of these accounts. */
  check(accounts: readonly string[]): void;
}

/** Reads such a flag; what cannot be told apart is a fault. */
export function readAccountValues(
  name: string,
  given: readonly string[] = [],
  faults: ConfigurationFault[],
): AccountValues {
  const byAccount = new Map<string, string>();
  let forAll: string | undefined;
  for (const text of given) {
    const [, account, value = text] = /^(\d{12})=(.*)$/s.exec(text) ?? [];
    if (account === undefined && given.length > 1)
      faults.push({
        name,
        message: `"${shown(text)}" is of which account? with several, write ACCOUNT=… for each`,
      });
    else if (account === undefined) forAll = value;
    else if (byAccount.has(account)) faults.push({ name, message: `is given twice for account ${account}` });
    else byAccount.set(account, value);
  }
  return {
    values: forAll === undefined ? [...byAccount.values()] : [forAll],
    of: (account) => byAccount.get(account) ?? forAll,
    isForAll: forAll !== undefined,
    check: (accounts) => {
      for (const account of byAccount.keys())
        if (!accounts.includes(account))
          faults.push({ name, message: `is given for account ${account}, of which there is no --role` });
    },
  };
}
