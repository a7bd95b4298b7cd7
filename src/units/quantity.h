// Quantities with dimensions: the only place that knows what GB, GiB, Gbit/s and TFLOP/s mean.
//
// A quantity is a number (double, or formula/traced.h's Traced) and a dimension: byte, second, flop, token,
// usd. Adding bytes to seconds does not compile; dividing bytes by seconds gives bytes per second.
//
//   Bytes<> message = mebibytes(64);
//   Seconds<> t = message / gigabytes_per_s(300);   // 0.2237 ms
//   format(t);                                      // "223.7 us"
//
// Not here: which numbers are right. Those are catalog data (catalog/) with a source.
#pragma once

#include <compare>
#include <type_traits>

namespace shardplan {

/// Exponents of the five base dimensions.
template <int Byte, int Second = 0, int Flop = 0, int Token = 0, int Usd = 0>
struct Dim {
  static constexpr int byte = Byte, second = Second, flop = Flop, token = Token, usd = Usd;
};

template <class A, class B>
using DimProduct =
    Dim<A::byte + B::byte, A::second + B::second, A::flop + B::flop, A::token + B::token, A::usd + B::usd>;
template <class A, class B>
using DimQuotient =
    Dim<A::byte - B::byte, A::second - B::second, A::flop - B::flop, A::token - B::token, A::usd - B::usd>;

/// A number of dimension D. `raw()` is in SI base units (bytes, seconds, FLOP, tokens, dollars).
template <class D, class N = double>
class Quantity {
 public:
  using Dimension = D;
  using Number = N;

  constexpr Quantity() = default;
  constexpr explicit Quantity(N value) : value_(static_cast<N&&>(value)) {}
  /// For printing and for handing over to data formats; arithmetic stays inside the type.
  constexpr const N& raw() const { return value_; }

  friend constexpr Quantity operator+(const Quantity& a, const Quantity& b) {
    return Quantity(a.value_ + b.value_);
  }
  friend constexpr Quantity operator-(const Quantity& a, const Quantity& b) {
    return Quantity(a.value_ - b.value_);
  }
  friend constexpr bool operator==(const Quantity& a, const Quantity& b) { return a.value_ == b.value_; }
  friend constexpr bool operator<(const Quantity& a, const Quantity& b) { return a.value_ < b.value_; }
  friend constexpr bool operator>(const Quantity& a, const Quantity& b) { return b < a; }
  friend constexpr bool operator<=(const Quantity& a, const Quantity& b) { return !(b < a); }
  friend constexpr bool operator>=(const Quantity& a, const Quantity& b) { return !(a < b); }
  constexpr Quantity& operator+=(const Quantity& other) { return *this = *this + other; }
  constexpr Quantity& operator-=(const Quantity& other) { return *this = *this - other; }

 private:
  N value_{};
};

template <class A, class B, class N>
constexpr auto operator*(const Quantity<A, N>& a, const Quantity<B, N>& b) {
  return Quantity<DimProduct<A, B>, N>(a.raw() * b.raw());
}
template <class A, class B, class N>
constexpr auto operator/(const Quantity<A, N>& a, const Quantity<B, N>& b) {
  return Quantity<DimQuotient<A, B>, N>(a.raw() / b.raw());
}
template <class D, class N>
constexpr auto operator*(double k, const Quantity<D, N>& q) {
  return Quantity<D, N>(N(k) * q.raw());
}
template <class D, class N>
constexpr auto operator*(const Quantity<D, N>& q, double k) {
  return Quantity<D, N>(q.raw() * N(k));
}
template <class D, class N>
constexpr auto operator/(const Quantity<D, N>& q, double k) {
  return Quantity<D, N>(q.raw() / N(k));
}

template <class N = double>
using Bytes = Quantity<Dim<1>, N>;
template <class N = double>
using Seconds = Quantity<Dim<0, 1>, N>;
template <class N = double>
using Flops = Quantity<Dim<0, 0, 1>, N>;
template <class N = double>
using Tokens = Quantity<Dim<0, 0, 0, 1>, N>;
template <class N = double>
using Usd = Quantity<Dim<0, 0, 0, 0, 1>, N>;
template <class N = double>
using BytesPerSecond = Quantity<Dim<1, -1>, N>;
template <class N = double>
using FlopsPerSecond = Quantity<Dim<0, -1, 1>, N>;
template <class N = double>
using TokensPerSecond = Quantity<Dim<0, -1, 0, 1>, N>;
/// Of things that are counted: parameters updated.
template <class N = double>
using PerSecond = Quantity<Dim<0, -1>, N>;
/// Counts, degrees, shares, efficiencies.
template <class N = double>
using Ratio = Quantity<Dim<0>, N>;

// Constructors that name the unit. Decimal prefixes are powers of 1000, binary ones of 1024; a bit is an
// eighth of a byte.
constexpr Bytes<> bytes(double v) { return Bytes<>(v); }
constexpr Bytes<> kilobytes(double v) { return Bytes<>(v * 1e3); }
constexpr Bytes<> megabytes(double v) { return Bytes<>(v * 1e6); }
constexpr Bytes<> gigabytes(double v) { return Bytes<>(v * 1e9); }
constexpr Bytes<> terabytes(double v) { return Bytes<>(v * 1e12); }
constexpr Bytes<> kibibytes(double v) { return Bytes<>(v * 1024.0); }
constexpr Bytes<> mebibytes(double v) { return Bytes<>(v * 1048576.0); }
constexpr Bytes<> gibibytes(double v) { return Bytes<>(v * 1073741824.0); }
constexpr Bytes<> tebibytes(double v) { return Bytes<>(v * 1099511627776.0); }
constexpr Seconds<> seconds(double v) { return Seconds<>(v); }
constexpr Seconds<> milliseconds(double v) { return Seconds<>(v * 1e-3); }
constexpr Seconds<> microseconds(double v) { return Seconds<>(v * 1e-6); }
constexpr BytesPerSecond<> bytes_per_s(double v) { return BytesPerSecond<>(v); }
constexpr BytesPerSecond<> gigabytes_per_s(double v) { return BytesPerSecond<>(v * 1e9); }
constexpr BytesPerSecond<> terabytes_per_s(double v) { return BytesPerSecond<>(v * 1e12); }
constexpr BytesPerSecond<> gbit_per_s(double v) { return BytesPerSecond<>(v * 1e9 / 8.0); }
constexpr PerSecond<> per_s(double v) { return PerSecond<>(v); }
constexpr Flops<> flops(double v) { return Flops<>(v); }
constexpr FlopsPerSecond<> flops_per_s(double v) { return FlopsPerSecond<>(v); }
constexpr FlopsPerSecond<> teraflops_per_s(double v) { return FlopsPerSecond<>(v * 1e12); }
constexpr Tokens<> tokens(double v) { return Tokens<>(v); }
constexpr Usd<> usd(double v) { return Usd<>(v); }
constexpr Ratio<> ratio(double v) { return Ratio<>(v); }

}  // namespace shardplan
