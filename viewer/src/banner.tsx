// What went wrong, said at the top of the page until it is closed; and the small notes that views show in place of what they can not.
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { isAbort } from "./source";
import { textOfError } from "./answer";

const message = signal("");

export function showError(error: unknown): void {
  if (!isAbort(error)) message.value = textOfError(error);
}

export function clearError(): void {
  message.value = "";
}

export function Banner() {
  if (message.value === "") return null;
  return (
    <div class="banner" role="alert">
      <span>{message.value}</span>
      <button type="button" onClick={clearError} aria-label="Close this message">
        ×
      </button>
    </div>
  );
}

export function Note({
  children,
  isError = false,
}: {
  children: ComponentChildren;
  isError?: boolean;
}) {
  return (
    <p class={isError ? "note note-error" : "note"} role={isError ? "alert" : "status"}>
      {children}
    </p>
  );
}

// Until an answer is there: says that it is awaited, or why there is none.
export function Waiting({ answer }: { answer: { error: string | undefined; isLoading: boolean } }) {
  if (answer.error !== undefined) return <Note isError>{answer.error}</Note>;
  return answer.isLoading ? <Note>Loading…</Note> : null;
}
