/* Browsers start no workers for pages that are opened from disk. There the search runs in a hidden frame instead. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const base = new URL(url, document.baseURI);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.loaded = new Promise((resolve) => {
        document.body.appendChild(frame);
        const inside = (this.inside = frame.contentWindow);
        inside.document.open();
        inside.document.write("<!doctype html><body></body>");
        inside.document.close();
        inside.postMessage = (data) => {
          const told = new MessageEvent("message", { data });
          this.dispatchEvent(told);
          if (this.onmessage) this.onmessage(told);
        };
        const load = (address) =>
          new Promise((done) => {
            const script = inside.document.createElement("script");
            script.src = new URL(address, base);
            script.onload = script.onerror = done;
            inside.document.body.appendChild(script);
          });
        inside.importScripts = (...addresses) =>
          addresses.reduce((before, address) => before.then(() => load(address)), Promise.resolve());
        load(base).then(resolve);
      });
    }
    postMessage(data) {
      this.loaded.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
}
